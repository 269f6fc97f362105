"""A model folder small enough to work out by hand: each word has a vector of its own, and that is all."""

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

#: The words of the model, and the vector of each. The first three are the special ones.
WORDS = {
    "[UNK]": (0, 0, 0, 1),
    "[CLS]": (1, 0, 0, 0),
    "[SEP]": (0, 0, 0, 2),
    "red": (0, 3, 0, 0),
    "blue": (0, 0, 5, 0),
    "query:": (0, 0, 0, 9),
}


def make_folder(
    folder: Path, *, pooled: str | None = None, integers: int = TensorProto.INT64, **settings: object
) -> Path:
    """Write model.onnx, tokenizer.json and, where there are settings, rifflux.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(tiny_graph(pooled, integers))
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    if settings:
        (folder / "rifflux.json").write_text(json.dumps(settings))
    return folder


def tiny_tokenizer() -> Tokenizer:
    """Words split at white space, between [CLS] and [SEP]."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    tokenizer.add_tokens(["query:"])
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def tiny_graph(pooled: str | None, integers: int) -> bytes:
    """A look-up of each word's vector and, in an output of the name asked, their maximum as the vector of the text."""
    table = numpy_helper.from_array(np.array(list(WORDS.values()), np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", 4])]
    constants = [table]
    if pooled:
        constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
        nodes.append(helper.make_node("ReduceMax", ["last_hidden_state", "axis"], [pooled], keepdims=0))
        outputs.append(helper.make_tensor_value_info(pooled, TensorProto.FLOAT, ["batch", 4]))
    inputs = [
        helper.make_tensor_value_info(name, integers, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return bytes(model.SerializeToString())
