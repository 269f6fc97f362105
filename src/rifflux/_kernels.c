/* The inner loops of a search, compiled: what `rifflux.kernels` has in numpy, with the same results to the last bit.
 *
 * Only buffers come in and go out, and the interpreter's lock is released while they are worked on. All sums are of
 * whole numbers that a double holds exactly, so their order means nothing, and neither do the processor's instructions:
 * the same loops are compiled for several of these, and the first call chooses. Limited API of Python 3.11.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Raised whenever a function changes; a file of another version is not loaded. */
#define VERSION 1
/* Rows that are counted at a time: their sums stay in the processor's cache. */
#define BLOCK 512
/* How many rows ahead are fetched, and the 16-bit numbers of a cache line. */
#define AHEAD 4
#define LINE 32

#if defined(__GNUC__) || defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define POPCOUNT(word) ((uint64_t)__builtin_popcountll(word))
#define PREFETCH(address) __builtin_prefetch(address, 0, 0)
#else
#define PREFETCH(address) ((void)(address))
#define INLINE static inline
#define POPCOUNT(word) by_arithmetic(word)
#endif

#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
#define HAS_WAYS 1
/* Without the instruction, the compiler would call a function for each word. */
#define PLAIN_POPCOUNT 1
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,popcnt")))
#define AVX2 __attribute__((target("avx2,fma,popcnt")))
#endif

INLINE uint64_t by_arithmetic(uint64_t word)
{
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    word += word >> 8;
    word += word >> 16;
    return (word + (word >> 32)) & 0x7f;
}

#ifndef PLAIN_POPCOUNT
#define PLAIN_POPCOUNT 0
#endif

enum { PLAIN, WITH_AVX2, WITH_AVX512 };

static const char *const NAMES[] = {"plain", "avx2", "avx512"};

static int best_way(void)
{
#ifdef HAS_WAYS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vpopcntdq") &&
        __builtin_cpu_supports("fma"))
        return WITH_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt"))
        return WITH_AVX2;
#endif
    return PLAIN;
}

/* Chosen when the module is loaded. */
static int chosen = PLAIN;

/* Counts the bits of each column that differ from the query's; those of `large` count three. `stride` is in words. */
INLINE void count_apart(const uint64_t *signs, Py_ssize_t stride, Py_ssize_t words, Py_ssize_t rows,
                        const uint64_t *query, const uint64_t *large, uint16_t *counts, int arithmetic)
{
    uint64_t sums[BLOCK];
    for (Py_ssize_t start = 0; start < rows; start += BLOCK) {
        Py_ssize_t size = rows - start < BLOCK ? rows - start : BLOCK;
        memset(sums, 0, sizeof sums);
        for (Py_ssize_t word = 0; word < words; word++) {
            const uint64_t *some = signs + word * stride + start;
            uint64_t ours = query[word];
            uint64_t mask = large[word];
            for (Py_ssize_t row = 0; row < size; row++) {
                uint64_t differing = some[row] ^ ours;
                if (arithmetic)
                    sums[row] += by_arithmetic(differing) + 2 * by_arithmetic(differing & mask);
                else
                    sums[row] += POPCOUNT(differing) + 2 * POPCOUNT(differing & mask);
            }
        }
        for (Py_ssize_t row = 0; row < size; row++)
            counts[start + row] = (uint16_t)sums[row];
    }
}

/* Multiplies rows of whole numbers with a vector of whole numbers. */
INLINE void multiply(const int16_t *values, Py_ssize_t width, const int64_t *rows, Py_ssize_t count,
                     const double *vector, double *products)
{
    for (Py_ssize_t place = 0; place < count; place++) {
        const int16_t *row = values + rows[place] * width;
        if (place + AHEAD < count) {
            /* The rows are strewn over the file: the processor does not guess which comes next. */
            const int16_t *later = values + rows[place + AHEAD] * width;
            for (Py_ssize_t at = 0; at < width; at += LINE)
                PREFETCH(later + at);
        }
        double sums[16] = {0};
        Py_ssize_t at = 0;
        for (; at + 16 <= width; at += 16)
            for (int lane = 0; lane < 16; lane++)
                sums[lane] += (double)row[at + lane] * vector[at + lane];
        double sum = 0;
        for (; at < width; at++)
            sum += (double)row[at] * vector[at];
        for (int lane = 0; lane < 16; lane++)
            sum += sums[lane];
        products[place] = sum;
    }
}

/* Writes the places of counts above one number and up to another, and returns how many there are. */
INLINE Py_ssize_t select_between(const uint16_t *counts, Py_ssize_t rows, int32_t above, int32_t upto, int64_t *places)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t start = 0; start < rows; start += BLOCK) {
        Py_ssize_t end = rows - start < BLOCK ? rows : start + BLOCK;
        unsigned any = 0;
        for (Py_ssize_t row = start; row < end; row++)
            any |= (unsigned)((int32_t)counts[row] > above) & (unsigned)((int32_t)counts[row] <= upto);
        if (!any)
            continue;
        for (Py_ssize_t row = start; row < end; row++) {
            places[found] = row;
            found += ((int32_t)counts[row] > above) & ((int32_t)counts[row] <= upto);
        }
    }
    return found;
}

#define WAY(name, attribute, arithmetic)                                                                                           \
    attribute static void apart_##name(const uint64_t *signs, Py_ssize_t stride, Py_ssize_t words, Py_ssize_t rows,    \
                                       const uint64_t *query, const uint64_t *large, uint16_t *counts)                 \
    {                                                                                                                  \
        count_apart(signs, stride, words, rows, query, large, counts, arithmetic);                                                 \
    }                                                                                                                  \
    attribute static void multiply_##name(const int16_t *values, Py_ssize_t width, const int64_t *rows,                \
                                          Py_ssize_t count, const double *vector, double *products)                    \
    {                                                                                                                  \
        multiply(values, width, rows, count, vector, products);                                                        \
    }                                                                                                                  \
    attribute static Py_ssize_t select_##name(const uint16_t *counts, Py_ssize_t rows, int32_t above, int32_t upto,    \
                                              int64_t *places)                                                         \
    {                                                                                                                  \
        return select_between(counts, rows, above, upto, places);                                                      \
    }

WAY(plain, , PLAIN_POPCOUNT)
#ifdef HAS_WAYS
WAY(avx2, AVX2, 0)
WAY(avx512, AVX512, 0)
#define CHOOSE(name) (chosen == WITH_AVX512 ? name##_avx512 : chosen == WITH_AVX2 ? name##_avx2 : name##_plain)
#else
#define CHOOSE(name) name##_plain
#endif

/* Gets a buffer of items of a size and number of dimensions; all but `strided` ones are contiguous. */
static int get_buffer(PyObject *given, Py_buffer *view, Py_ssize_t size, int dimensions, int flags, const char *name)
{
    if (PyObject_GetBuffer(given, view, flags | PyBUF_FORMAT) < 0)
        return -1;
    if (view->itemsize != size || view->ndim != dimensions) {
        PyErr_Format(PyExc_ValueError, "%s must have %d dimensions of %zd bytes each", name, dimensions, size);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

static int has_arguments(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments were given instead of %zd", given, wanted);
    return 0;
}

static PyObject *apart(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer signs, query, large, counts;
    PyObject *result = NULL;
    if (!has_arguments(number, 4) || get_buffer(given[0], &signs, 8, 2, PyBUF_STRIDED_RO, "signs") < 0)
        return NULL;
    if (get_buffer(given[1], &query, 8, 1, PyBUF_C_CONTIGUOUS, "query") < 0)
        goto signs;
    if (get_buffer(given[2], &large, 8, 1, PyBUF_C_CONTIGUOUS, "large") < 0)
        goto query;
    if (get_buffer(given[3], &counts, 2, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "counts") < 0)
        goto large;
    Py_ssize_t words = signs.shape[0], rows = signs.shape[1];
    if (query.shape[0] != words || large.shape[0] != words || counts.shape[0] != rows ||
        (rows > 1 && signs.strides[1] != 8) || signs.strides[0] % 8 || signs.strides[0] < 0 || words > 341) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto counts;
    }
    Py_BEGIN_ALLOW_THREADS
    CHOOSE(apart)(signs.buf, signs.strides[0] / 8, words, rows, query.buf, large.buf, counts.buf);
    Py_END_ALLOW_THREADS
    Py_INCREF(Py_None);
    result = Py_None;
counts:
    PyBuffer_Release(&counts);
large:
    PyBuffer_Release(&large);
query:
    PyBuffer_Release(&query);
signs:
    PyBuffer_Release(&signs);
    return result;
}

static PyObject *products(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer values, rows, vector, found;
    PyObject *result = NULL;
    if (!has_arguments(number, 4) || get_buffer(given[0], &values, 2, 2, PyBUF_C_CONTIGUOUS, "values") < 0)
        return NULL;
    if (get_buffer(given[1], &rows, 8, 1, PyBUF_C_CONTIGUOUS, "rows") < 0)
        goto values;
    if (get_buffer(given[2], &vector, 8, 1, PyBUF_C_CONTIGUOUS, "vector") < 0)
        goto rows;
    if (get_buffer(given[3], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "products") < 0)
        goto vector;
    const int64_t *wanted = rows.buf;
    Py_ssize_t count = rows.shape[0];
    int fits = vector.shape[0] == values.shape[1] && found.shape[0] == count;
    for (Py_ssize_t place = 0; fits && place < count; place++)
        fits = wanted[place] >= 0 && wanted[place] < values.shape[0];
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit, or there is no such row");
        goto found;
    }
    Py_BEGIN_ALLOW_THREADS
    CHOOSE(multiply)(values.buf, values.shape[1], wanted, count, vector.buf, found.buf);
    Py_END_ALLOW_THREADS
    Py_INCREF(Py_None);
    result = Py_None;
found:
    PyBuffer_Release(&found);
vector:
    PyBuffer_Release(&vector);
rows:
    PyBuffer_Release(&rows);
values:
    PyBuffer_Release(&values);
    return result;
}

static PyObject *between(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer counts, places;
    PyObject *result = NULL;
    if (!has_arguments(number, 4))
        return NULL;
    long above = PyLong_AsLong(given[1]);
    long upto = PyLong_AsLong(given[2]);
    if (PyErr_Occurred())
        return NULL;
    if (get_buffer(given[0], &counts, 2, 1, PyBUF_C_CONTIGUOUS, "counts") < 0)
        return NULL;
    if (get_buffer(given[3], &places, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "places") < 0)
        goto counts;
    if (places.shape[0] < counts.shape[0] || above < -1 || above > 1 << 16 || upto < -1 || upto > 1 << 16) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto places;
    }
    Py_ssize_t size;
    Py_BEGIN_ALLOW_THREADS
    size = CHOOSE(select)(counts.buf, counts.shape[0], (int32_t)above, (int32_t)upto, places.buf);
    Py_END_ALLOW_THREADS
    result = PyLong_FromSsize_t(size);
places:
    PyBuffer_Release(&places);
counts:
    PyBuffer_Release(&counts);
    return result;
}

static PyObject *use(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    if (!has_arguments(number, 1))
        return NULL;
    long way = PyLong_AsLong(given[0]);
    if (PyErr_Occurred())
        return NULL;
    if (way < 0 || way > best_way()) {
        PyErr_SetString(PyExc_ValueError, "the processor has no such instructions");
        return NULL;
    }
    chosen = (int)way;
    return PyUnicode_FromString(NAMES[way]);
}

static PyMethodDef functions[] = {
    {"apart", (PyCFunction)(void (*)(void))apart, METH_FASTCALL, "Count the bits that differ from those of a query."},
    {"products", (PyCFunction)(void (*)(void))products, METH_FASTCALL, "Multiply rows with a vector."},
    {"between", (PyCFunction)(void (*)(void))between, METH_FASTCALL, "Write the places of the counts in a range."},
    {"use", (PyCFunction)(void (*)(void))use, METH_FASTCALL, "Choose the instructions by number; return their name."},
    {NULL, NULL, 0, NULL},
};

static int set_up(PyObject *module)
{
    chosen = best_way();
    if (PyModule_AddIntConstant(module, "VERSION", VERSION) < 0 || PyModule_AddIntConstant(module, "WAYS", chosen) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "INSTRUCTIONS", NAMES[chosen]);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)set_up}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rifflux._kernels", "The inner loops of a search, compiled.", 0, functions, slots,
    NULL,                  NULL,               NULL,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    return PyModuleDef_Init(&definition);
}
