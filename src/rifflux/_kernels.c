/* The inner loops of a search, compiled: what `rifflux.kernels` has in numpy, with the same results to the last bit.
 *
 * Only buffers come in and go out, and the interpreter's lock is released while they are worked on. The sums over
 * vectors are of whole numbers that a double holds exactly, so their order means nothing, and neither do the processor's
 * instructions: the same loops are compiled for several of these, and the first call chooses. All other sums are made in
 * the order of numpy, each product rounded before it is added (`-ffp-contract=off`). Limited API of Python 3.11.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles are computed with more digits than they have: numpy would give others"
#endif

/* Raised whenever a function changes; a file of another version is not loaded. */
#define VERSION 5
/* Rows that are counted at a time: their sums stay in the processor's cache. */
#define BLOCK 512
/* How many rows ahead are fetched, and the 16-bit numbers of a cache line. */
#define AHEAD 4
#define LINE 32

#if defined(__GNUC__) || defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define POPCOUNT(word) ((uint64_t)__builtin_popcountll(word))
#define LOWEST(word) __builtin_ctzll(word)
#define PREFETCH(address) __builtin_prefetch(address, 0, 0)
#else
#define PREFETCH(address) ((void)(address))
#define INLINE static inline
#define POPCOUNT(word) by_arithmetic(word)
#define LOWEST(word) ((int)by_arithmetic(((word) & (0 - (word))) - 1))
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

/* Returns how many counts are above one number and up to another, and writes as many of their places as there is room. */
INLINE Py_ssize_t select_between(const uint16_t *counts, Py_ssize_t rows, int32_t above, int32_t upto, int64_t *places,
                                 Py_ssize_t room)
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
            if (found < room)
                places[found] = row;
            found += ((int32_t)counts[row] > above) & ((int32_t)counts[row] <= upto);
        }
    }
    return found;
}

/* Adds to each place of a histogram the rows of that count, of which it looks at every so many; returns the length up to
 * the highest count. Counts beyond the histogram are left out. */
static Py_ssize_t tally_counts(const uint16_t *counts, Py_ssize_t rows, Py_ssize_t each, int64_t *histogram,
                               Py_ssize_t size)
{
    /* Neighbors often have the same count: one table would have to wait for its own last entry. */
    enum { TABLES = 4 };
    uint32_t *tables = calloc((size_t)size + 1, TABLES * sizeof *tables);
    if (!tables)
        return -1;
    Py_ssize_t table = 0;
    for (Py_ssize_t row = 0; row < rows; row += each, table = (table + 1) % TABLES)
        tables[(counts[row] < size ? counts[row] : size) * TABLES + table]++;
    Py_ssize_t length = 0;
    for (Py_ssize_t count = 0; count < size; count++) {
        for (table = 0; table < TABLES; table++)
            histogram[count] += tables[count * TABLES + table];
        if (histogram[count])
            length = count + 1;
    }
    free(tables);
    return length;
}

/* Lists that are merged at a time, and rows whose sums stay in the processor's first cache. */
#define LISTS 24
#define ROWS 2048

/* Merges lists of ascending rows, each with what it adds, and returns the number of different rows. What is added to a
 * row is added in the order of the lists. Returns -1 if a list is not ascending. */
static Py_ssize_t merge_rows(const int64_t *rows, const double *added, const int64_t *ends, Py_ssize_t lists,
                             int64_t *found, double *totals)
{
    double sums[ROWS];
    Py_ssize_t at[LISTS];
    for (Py_ssize_t list = 0; list < lists; list++)
        at[list] = list ? ends[list - 1] : 0;
    Py_ssize_t count = 0;
    for (;;) {
        int any = 0;
        int64_t first = INT64_MAX;
        for (Py_ssize_t list = 0; list < lists; list++)
            if (at[list] < ends[list]) {
                first = rows[at[list]] < first ? rows[at[list]] : first;
                any = 1;
            }
        if (!any)
            return count;
        uint64_t seen[ROWS / 64] = {0};
        for (Py_ssize_t list = 0; list < lists; list++) {
            Py_ssize_t begin = list ? ends[list - 1] : 0, place = at[list];
            for (; place < ends[list]; place++) {
                if (place > begin && rows[place] <= rows[place - 1])
                    return -1;
                uint64_t row = (uint64_t)rows[place] - (uint64_t)first;
                if (row >= ROWS)
                    break;
                uint64_t bit = 1ull << (row & 63);
                sums[row] = (seen[row >> 6] & bit ? sums[row] : 0.0) + added[place];
                seen[row >> 6] |= bit;
            }
            at[list] = place;
        }
        for (int word = 0; word < ROWS / 64; word++)
            for (; seen[word]; seen[word] &= seen[word] - 1) {
                int row = 64 * word + LOWEST(seen[word]);
                found[count] = first + row;
                totals[count++] = sums[row];
            }
    }
}

/* The number between fields and phrases, as in `calibrate.py`, and the marks of a segment. */
#define GAP -1
#define NAMING 1
#define FURTHER 2

/* Copies segments of numbers one after another, a gap behind each, with the passage of every number and whether it is of
 * a name. A segment is a start, an end, a passage and marks. The `values` have `width` bytes, the `further` ones four.
 * Returns 0 if a segment is not within its numbers. */
static int gather_segments(const void *values, Py_ssize_t width, Py_ssize_t size, const int32_t *further,
                           Py_ssize_t more, const int64_t *segments, Py_ssize_t count, int32_t *numbers, int64_t *rows,
                           uint8_t *naming, Py_ssize_t room)
{
    Py_ssize_t place = 0;
    for (Py_ssize_t segment = 0; segment < count; segment++, segments += 4) {
        int is_further = (segments[3] & FURTHER) != 0;
        int64_t start = segments[0], end = segments[1];
        if (start < 0 || end < start || end > (is_further ? more : size) || end - start >= room - place)
            return 0;
        Py_ssize_t last = place + (Py_ssize_t)(end - start);
        if (is_further)
            memcpy(numbers + place, further + start, (size_t)(end - start) * sizeof *numbers);
        else if (width == 4)
            memcpy(numbers + place, (const int32_t *)values + start, (size_t)(end - start) * sizeof *numbers);
        else
            for (Py_ssize_t at = place; at < last; at++, start++)
                numbers[at] = width == 2 ? ((const uint16_t *)values)[start] : ((const uint8_t *)values)[start];
        memset(naming + place, (int)(segments[3] & NAMING), (size_t)(last - place));
        numbers[last] = GAP;
        naming[last] = 0;
        for (; place <= last; place++)
            rows[place] = segments[2];
    }
    return place == room;
}

/* Numbers that are compared at a time. */
#define CHUNK 64

/* Marks the passages of each clause: `found` has a row of `count` bytes for each. Returns 0 if a row is out of range. */
INLINE int mark_holders(const int32_t *numbers, Py_ssize_t size, const int64_t *rows, const int32_t *terms,
                        const int64_t *ends, Py_ssize_t clauses, Py_ssize_t count, uint8_t *found)
{
    Py_ssize_t start = 0;
    for (Py_ssize_t clause = 0; clause < clauses; clause++, found += count) {
        const int32_t *wanted = terms + start;
        Py_ssize_t width = ends[clause] - start;
        start = ends[clause];
        for (Py_ssize_t from = 0; width > 0 && from + width <= size; from += CHUNK) {
            Py_ssize_t last = size - width + 1;
            Py_ssize_t upto = last - from < CHUNK ? last : from + CHUNK;
            unsigned any = 0;
            for (Py_ssize_t place = from; place < upto; place++)
                any |= (unsigned)(numbers[place] == wanted[0]);
            for (Py_ssize_t place = from; any && place < upto; place++) {
                Py_ssize_t further = 0;
                while (further < width && numbers[place + further] == wanted[further])
                    further++;
                if (further < width)
                    continue;
                if (rows[place] < 0 || rows[place] >= count)
                    return 0;
                found[rows[place]] = 1;
            }
        }
    }
    return 1;
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
                                              int64_t *places, Py_ssize_t room)                                        \
    {                                                                                                                  \
        return select_between(counts, rows, above, upto, places, room);                                                \
    }                                                                                                                  \
    attribute static int holders_##name(const int32_t *numbers, Py_ssize_t size, const int64_t *rows,                  \
                                        const int32_t *terms, const int64_t *ends, Py_ssize_t clauses,                 \
                                        Py_ssize_t count, uint8_t *found)                                              \
    {                                                                                                                  \
        return mark_holders(numbers, size, rows, terms, ends, clauses, count, found);                                  \
    }

WAY(plain, , PLAIN_POPCOUNT)
#ifdef HAS_WAYS
WAY(avx2, AVX2, 0)
WAY(avx512, AVX512, 0)
#define CHOOSE(name) (chosen == WITH_AVX512 ? name##_avx512 : chosen == WITH_AVX2 ? name##_avx2 : name##_plain)
#else
#define CHOOSE(name) name##_plain
#endif

/* A set of numbers, each with the place that it was given; -1 marks a free slot. */
typedef struct {
    uint64_t mask;
    uint64_t *keys;
    Py_ssize_t *places;
} Numbers;

static int make_numbers(Numbers *set, Py_ssize_t most)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)most)
        size *= 2;
    set->mask = size - 1;
    set->keys = malloc(size * sizeof *set->keys);
    set->places = malloc(size * sizeof *set->places);
    if (!set->keys || !set->places)
        return 0;
    memset(set->places, 0xff, size * sizeof *set->places);
    return 1;
}

static void free_numbers(Numbers *set)
{
    free(set->keys);
    free(set->places);
}

/* Returns the slot of a number: its own, or the free one where it belongs. */
static inline uint64_t slot_of(const Numbers *set, uint64_t key)
{
    uint64_t slot = (key * 0x9e3779b97f4a7c15u) >> 20 & set->mask;
    while (set->places[slot] >= 0 && set->keys[slot] != key)
        slot = (slot + 1) & set->mask;
    return slot;
}

static inline Py_ssize_t add_number(Numbers *set, uint64_t key, Py_ssize_t place)
{
    uint64_t slot = slot_of(set, key);
    if (set->places[slot] < 0) {
        set->keys[slot] = key;
        set->places[slot] = place;
    }
    return set->places[slot];
}

/* The place of the terms that are left out. */
#define KNOWN PY_SSIZE_T_MAX
/* As in `features.py`: the least share of a term, and the parts of one to which shares are compared. */
#define LEFT 1e-12
#define PARTS 1e12
/* From this number on, doubles are whole. */
#define WHOLE 4503599627370496.0

static inline double rounded(double value)
{
    double parts = value * PARTS;
    if (parts < WHOLE)
        parts = (parts + WHOLE) - WHOLE;
    return parts / PARTS;
}

typedef struct {
    double value;
    double compared;
    int32_t term;
    Py_ssize_t place;
} Likely;

/* Puts a term among the likeliest, which are in order; returns how many there are. */
static inline Py_ssize_t put_likely(Likely *likeliest, Py_ssize_t size, Py_ssize_t words, Likely one)
{
    Py_ssize_t at = size;
    while (at > 0 && (likeliest[at - 1].compared < one.compared ||
                      (likeliest[at - 1].compared == one.compared && likeliest[at - 1].term > one.term)))
        at--;
    if (at >= words)
        return size;
    size = size < words ? size + 1 : words;
    memmove(likeliest + at + 1, likeliest + at, (size_t)(size - at - 1) * sizeof one);
    likeliest[at] = one;
    return size;
}

/* Does what `words_of_the_best` does. Returns 0 without memory, -1 if a row is out of range. */
static int share_words(const int32_t *numbers, const int64_t *rows, Py_ssize_t size, const double *weights,
                       Py_ssize_t best, const int32_t *known, Py_ssize_t knowing, Py_ssize_t words, double *found,
                       Py_ssize_t count)
{
    Py_ssize_t most = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (rows[at] < 0 || rows[at] >= count)
            return -1;
        most += rows[at] < best && numbers[at] >= 0;
    }
    memset(found, 0, (size_t)count * sizeof *found);
    if (!most || !best || !words)
        return 1;
    /* No model has more words than there are terms. */
    words = words < most ? words : most;
    Numbers set;
    int done = make_numbers(&set, most + knowing);
    int32_t *terms = malloc((size_t)most * sizeof *terms);
    double *shares = calloc((size_t)most, (size_t)best * sizeof *shares);
    double *lengths = calloc((size_t)best, sizeof *lengths);
    double *whole = malloc((size_t)most * sizeof *whole);
    Py_ssize_t *column_of = malloc((size_t)most * sizeof *column_of);
    Likely *likeliest = calloc((size_t)(best + 1), (size_t)words * sizeof *likeliest);
    Py_ssize_t *sizes = calloc((size_t)(best + 1), sizeof *sizes);
    uint8_t *present = NULL;
    done = done && terms && shares && lengths && whole && column_of && likeliest && sizes;
    if (!done)
        goto out;
    for (Py_ssize_t at = 0; at < knowing; at++)
        add_number(&set, (uint32_t)known[at], KNOWN);
    Py_ssize_t distinct = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (rows[at] >= best || numbers[at] < 0)
            continue;
        lengths[rows[at]] += 1;
        Py_ssize_t place = add_number(&set, (uint32_t)numbers[at], distinct);
        if (place == KNOWN)
            continue;
        if (place == distinct)
            terms[distinct++] = numbers[at];
        shares[place * best + rows[at]] += 1;
    }
    for (Py_ssize_t text = 0; text < best; text++)
        lengths[text] = weights[text] / (lengths[text] > 1 ? lengths[text] : 1);
    for (Py_ssize_t place = 0; place < distinct; place++) {
        whole[place] = 0;
        for (Py_ssize_t text = 0; text < best; text++) {
            shares[place * best + text] *= lengths[text];
            whole[place] += shares[place * best + text];
        }
        column_of[place] = -1;
    }
    Py_ssize_t columns = 0;
    for (Py_ssize_t model = 0; model <= best; model++) {
        Likely *own = likeliest + model * words;
        for (Py_ssize_t place = 0; place < distinct; place++) {
            double value = whole[place];
            if (model < best) {
                value -= shares[place * best + model];
                value = value > LEFT ? value : 0;
            }
            /* Most are not among the likeliest, however they are rounded. */
            if (sizes[model] == words && value < own[words - 1].compared * (1 - 1e-9) - 2 * LEFT)
                continue;
            Likely one = {value, rounded(value), terms[place], place};
            sizes[model] = put_likely(own, sizes[model], words, one);
        }
        for (Py_ssize_t at = 0; at < sizes[model]; at++)
            if (column_of[own[at].place] < 0)
                column_of[own[at].place] = columns++;
    }
    present = calloc((size_t)count, (size_t)columns + 1);
    done = present != NULL;
    if (!done)
        goto out;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (numbers[at] < 0)
            continue;
        uint64_t slot = slot_of(&set, (uint32_t)numbers[at]);
        Py_ssize_t place = set.places[slot];
        if (place >= 0 && place != KNOWN && column_of[place] >= 0)
            present[rows[at] * columns + column_of[place]] = 1;
    }
    for (Py_ssize_t text = 0; text < count; text++) {
        Py_ssize_t model = text < best ? text : best;
        const Likely *own = likeliest + model * words;
        double sum = 0, total = 0;
        for (Py_ssize_t at = 0; at < sizes[model]; at++) {
            total += own[at].value;
            if (present[text * columns + column_of[own[at].place]])
                sum += own[at].value;
        }
        found[text] = sum / (total > 0 ? total : 1);
    }
out:
    free(present);
    free(sizes);
    free(likeliest);
    free(column_of);
    free(whole);
    free(lengths);
    free(shares);
    free(terms);
    free_numbers(&set);
    return done;
}

/* Writes for each passage the share of its distinct marked terms that are known. Returns as `share_words` does. */
static int share_known(const int32_t *numbers, const int64_t *rows, const uint8_t *marked, Py_ssize_t size,
                       const int32_t *known, Py_ssize_t knowing, double *found, Py_ssize_t count)
{
    Py_ssize_t most = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (!marked[at])
            continue;
        if (rows[at] < 0 || rows[at] >= count || rows[at] > INT32_MAX)
            return -1;
        most++;
    }
    memset(found, 0, (size_t)count * sizeof *found);
    Numbers set;
    double *counts = calloc((size_t)count + 1, sizeof *counts);
    int done = make_numbers(&set, most) && counts;
    Py_ssize_t distinct = 0;
    for (Py_ssize_t at = 0; done && at < size; at++) {
        if (!marked[at])
            continue;
        uint64_t key = (uint64_t)rows[at] << 32 | (uint32_t)numbers[at];
        if (add_number(&set, key, distinct) != distinct)
            continue;
        distinct++;
        counts[rows[at]] += 1;
        for (Py_ssize_t place = 0; place < knowing; place++)
            if (known[place] == numbers[at]) {
                found[rows[at]] += 1;
                break;
            }
    }
    for (Py_ssize_t row = 0; done && row < count; row++)
        found[row] /= counts[row] > 1 ? counts[row] : 1;
    free(counts);
    free_numbers(&set);
    return done;
}

/* The longest word that is compared; longer ones count as near. */
#define LONGEST 64

/* Returns 0 only if two words of ASCII are more than `most` edits apart; see `rifflux.text.analyzer.distance`. */
static int may_be_near(const uint8_t *one, Py_ssize_t size, const uint8_t *other, Py_ssize_t length, int most)
{
    if (size - length > most)
        return 0;
    /* What is not of ASCII has fewer characters than bytes. */
    int wide = 0;
    for (Py_ssize_t place = 0; place < length; place++)
        wide |= other[place] & 0x80;
    if (wide)
        return 1;
    if (length - size > most)
        return 0;
    while (size && length && *one == *other)
        one++, other++, size--, length--;
    while (size && length && one[size - 1] == other[length - 1])
        size--, length--;
    if (size > LONGEST || length > LONGEST)
        return 1;
    uint8_t lines[3][LONGEST + 1];
    uint8_t *before = lines[0], *last = lines[1], *line = lines[2];
    for (Py_ssize_t column = 0; column <= length; column++)
        last[column] = (uint8_t)column;
    for (Py_ssize_t row = 1; row <= size; row++) {
        int least = line[0] = (uint8_t)row;
        for (Py_ssize_t column = 1; column <= length; column++) {
            int value = last[column - 1] + (one[row - 1] != other[column - 1]);
            if (last[column] + 1 < value)
                value = last[column] + 1;
            if (line[column - 1] + 1 < value)
                value = line[column - 1] + 1;
            if (row > 1 && column > 1 && one[row - 1] == other[column - 2] && one[row - 2] == other[column - 1] &&
                before[column - 2] + 1 < value)
                value = before[column - 2] + 1;
            line[column] = (uint8_t)value;
            if (value < least)
                least = value;
        }
        if (least > most)
            return 0;
        uint8_t *oldest = before;
        before = last, last = line, line = oldest;
    }
    return last[length] <= most;
}

/* Values that are looked for at a time: memory answers for several while it would make one wait. */
#define SEARCHED 16

/* Writes for each wanted value where it is among known ones, which ascend: what `order` has there, or -1 if it is
 * missing. */
static void find_places(const int64_t *known, const int32_t *order, Py_ssize_t size, const int64_t *wanted,
                        Py_ssize_t count, int64_t *found)
{
    for (Py_ssize_t start = 0; start < count; start += SEARCHED) {
        Py_ssize_t some = count - start < SEARCHED ? count - start : SEARCHED;
        Py_ssize_t low[SEARCHED] = {0};
        for (Py_ssize_t left = size; left > 1; left -= left / 2)
            for (Py_ssize_t each = 0; each < some; each++)
                low[each] += known[low[each] + left / 2 - 1] < wanted[start + each] ? left / 2 : 0;
        for (Py_ssize_t each = 0; each < some; each++) {
            int is_known = size && known[low[each]] == wanted[start + each];
            found[start + each] = is_known ? order[low[each]] : -1;
        }
    }
}

/* Writes the place from 1 and the score of each id in a ranking, NaN for one that is missing. The ids ascend; of several
 * entries of an id, the first counts. */
static void find_ranks(const int64_t *ids, Py_ssize_t count, const int64_t *ranked, const double *given, Py_ssize_t size,
                       double *ranks, double *scores)
{
    for (Py_ssize_t each = 0; each < count; each++)
        ranks[each] = scores[each] = NAN;
    for (Py_ssize_t end = count ? size : 0; end > 0; end -= SEARCHED) {
        Py_ssize_t start = end < SEARCHED ? 0 : end - SEARCHED, some = end - start;
        Py_ssize_t low[SEARCHED] = {0};
        for (Py_ssize_t left = count; left > 1; left -= left / 2)
            for (Py_ssize_t each = 0; each < some; each++)
                low[each] += ids[low[each] + left / 2 - 1] < ranked[start + each] ? left / 2 : 0;
        for (Py_ssize_t each = some - 1; each >= 0; each--)
            if (ids[low[each]] == ranked[start + each]) {
                ranks[low[each]] = (double)(start + each + 1);
                scores[low[each]] = given[start + each];
            }
    }
}

/* A row with the bits of its score, which ascend as scores fall. */
typedef struct {
    uint64_t key;
    int64_t id;
} Ranked;

/* Sorts rows by one of their numbers, stably, and returns which of two places they are in. */
static Ranked *sort_by(Ranked *rows, Ranked *other, Py_ssize_t count, int by_id)
{
    for (int shift = 0; shift < 64; shift += 8) {
        Py_ssize_t starts[257] = {0};
        for (Py_ssize_t row = 0; row < count; row++)
            starts[((by_id ? (uint64_t)rows[row].id ^ (1ull << 63) : rows[row].key) >> shift & 255) + 1]++;
        int digit = 0;
        while (digit < 256 && starts[digit + 1] < count)
            digit++;
        if (digit < 256 && starts[digit + 1] == count)
            continue; /* All have the same. */
        for (digit = 1; digit < 256; digit++)
            starts[digit] += starts[digit - 1];
        for (Py_ssize_t row = 0; row < count; row++) {
            uint64_t number = by_id ? (uint64_t)rows[row].id ^ (1ull << 63) : rows[row].key;
            other[starts[number >> shift & 255]++] = rows[row];
        }
        Ranked *sorted = other;
        other = rows;
        rows = sorted;
    }
    return rows;
}

/* Buckets that scores are counted in. */
#define BUCKETS 4096

/* Writes the `limit` rows of highest score in order, ties by id, and returns their number; -1 if memory is lacking. */
static Py_ssize_t select_best(const int64_t *ids, const double *scores, Py_ssize_t count, Py_ssize_t limit,
                              int64_t *found, double *values)
{
    double least = count ? scores[0] : 0, greatest = least;
    for (Py_ssize_t row = 1; row < count; row++) {
        least = scores[row] < least ? scores[row] : least;
        greatest = scores[row] > greatest ? scores[row] : greatest;
    }
    /* Rows in buckets up to that of the last one are sorted: equal scores are in the same. */
    double scale = (BUCKETS - 1) / (greatest - least);
    uint16_t *buckets = NULL;
    Py_ssize_t size = count;
    int last = BUCKETS;
    if (limit < count && scale > 0 && scale <= DBL_MAX) {
        Py_ssize_t sizes[BUCKETS] = {0};
        if (!(buckets = malloc((size_t)count * sizeof *buckets)))
            return -1;
        for (Py_ssize_t row = 0; row < count; row++) {
            double place = (greatest - scores[row]) * scale;
            buckets[row] = (uint16_t)(place < BUCKETS - 1 ? place : BUCKETS - 1);
            sizes[buckets[row]]++;
        }
        for (last = 0, size = sizes[0]; size < limit; size += sizes[++last])
            ;
    }
    Ranked *rows = malloc(2 * (size_t)size * sizeof *rows + 1), *sorted = rows;
    if (!rows) {
        free(buckets);
        return -1;
    }
    Py_ssize_t kept = 0;
    for (Py_ssize_t row = 0; row < count; row++) {
        if (buckets && buckets[row] > last)
            continue;
        double score = scores[row] + 0.0; /* There is no negative zero. */
        uint64_t bits;
        memcpy(&bits, &score, sizeof bits);
        rows[kept++] = (Ranked){bits >> 63 ? bits : ~(bits | 1ull << 63), ids[row]};
    }
    sorted = sort_by(rows, rows + size, size, 0);
    int ties = 0;
    for (Py_ssize_t row = 1; row < size; row++)
        ties |= sorted[row].key == sorted[row - 1].key;
    if (ties) {
        sorted = sort_by(sorted, sorted == rows ? rows + size : rows, size, 1);
        sorted = sort_by(sorted, sorted == rows ? rows + size : rows, size, 0);
    }
    size = size < limit ? size : limit;
    for (Py_ssize_t row = 0; row < size; row++) {
        uint64_t key = sorted[row].key, bits = key >> 63 ? key : ~key & ~(1ull << 63);
        memcpy(values + row, &bits, sizeof bits);
        found[row] = sorted[row].id;
    }
    free(rows);
    free(buckets);
    return size;
}

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

static PyObject *places(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer known, order, wanted, found;
    PyObject *result = NULL;
    if (!has_arguments(number, 4) || get_buffer(given[0], &known, 8, 1, PyBUF_C_CONTIGUOUS, "known") < 0)
        return NULL;
    if (get_buffer(given[1], &order, 4, 1, PyBUF_C_CONTIGUOUS, "order") < 0)
        goto known;
    if (get_buffer(given[2], &wanted, 8, 1, PyBUF_C_CONTIGUOUS, "wanted") < 0)
        goto order;
    if (get_buffer(given[3], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto wanted;
    if (order.shape[0] == known.shape[0] && found.shape[0] == wanted.shape[0]) {
        Py_BEGIN_ALLOW_THREADS
        find_places(known.buf, order.buf, known.shape[0], wanted.buf, wanted.shape[0], found.buf);
        Py_END_ALLOW_THREADS
        Py_INCREF(Py_None);
        result = Py_None;
    } else
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
    PyBuffer_Release(&found);
wanted:
    PyBuffer_Release(&wanted);
order:
    PyBuffer_Release(&order);
known:
    PyBuffer_Release(&known);
    return result;
}

static PyObject *ranks(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer ids, ranked, values, found, scores;
    PyObject *result = NULL;
    if (!has_arguments(number, 5) || get_buffer(given[0], &ids, 8, 1, PyBUF_C_CONTIGUOUS, "ids") < 0)
        return NULL;
    if (get_buffer(given[1], &ranked, 8, 1, PyBUF_C_CONTIGUOUS, "ranked") < 0)
        goto ids;
    if (get_buffer(given[2], &values, 8, 1, PyBUF_C_CONTIGUOUS, "values") < 0)
        goto ranked;
    if (get_buffer(given[3], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto values;
    if (get_buffer(given[4], &scores, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "scores") < 0)
        goto found;
    Py_ssize_t count = ids.shape[0];
    if (values.shape[0] == ranked.shape[0] && found.shape[0] == count && scores.shape[0] == count) {
        Py_BEGIN_ALLOW_THREADS
        find_ranks(ids.buf, count, ranked.buf, values.buf, ranked.shape[0], found.buf, scores.buf);
        Py_END_ALLOW_THREADS
        Py_INCREF(Py_None);
        result = Py_None;
    } else
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
    PyBuffer_Release(&scores);
found:
    PyBuffer_Release(&found);
values:
    PyBuffer_Release(&values);
ranked:
    PyBuffer_Release(&ranked);
ids:
    PyBuffer_Release(&ids);
    return result;
}

static PyObject *best(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer ids, scores, found, values;
    PyObject *result = NULL;
    if (!has_arguments(number, 4) || get_buffer(given[0], &ids, 8, 1, PyBUF_C_CONTIGUOUS, "ids") < 0)
        return NULL;
    if (get_buffer(given[1], &scores, 8, 1, PyBUF_C_CONTIGUOUS, "scores") < 0)
        goto ids;
    if (get_buffer(given[2], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto scores;
    if (get_buffer(given[3], &values, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "values") < 0)
        goto found;
    Py_ssize_t count = ids.shape[0], limit = found.shape[0], size;
    if (scores.shape[0] != count || values.shape[0] != limit) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto values;
    }
    Py_BEGIN_ALLOW_THREADS
    size = select_best(ids.buf, scores.buf, count, limit, found.buf, values.buf);
    Py_END_ALLOW_THREADS
    result = size < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(size);
values:
    PyBuffer_Release(&values);
found:
    PyBuffer_Release(&found);
scores:
    PyBuffer_Release(&scores);
ids:
    PyBuffer_Release(&ids);
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
    if (above < -1 || above > 1 << 16 || upto < -1 || upto > 1 << 16) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto places;
    }
    Py_ssize_t size;
    Py_BEGIN_ALLOW_THREADS
    size = CHOOSE(select)(counts.buf, counts.shape[0], (int32_t)above, (int32_t)upto, places.buf, places.shape[0]);
    Py_END_ALLOW_THREADS
    result = PyLong_FromSsize_t(size);
places:
    PyBuffer_Release(&places);
counts:
    PyBuffer_Release(&counts);
    return result;
}

static PyObject *tally(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer counts, histogram;
    PyObject *result = NULL;
    if (!has_arguments(number, 3))
        return NULL;
    long each = PyLong_AsLong(given[1]);
    if (PyErr_Occurred())
        return NULL;
    if (get_buffer(given[0], &counts, 2, 1, PyBUF_C_CONTIGUOUS, "counts") < 0)
        return NULL;
    if (get_buffer(given[2], &histogram, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "histogram") < 0)
        goto counts;
    if (each < 1 || each > 1 << 16 || histogram.shape[0] > 1 << 16) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto histogram;
    }
    Py_ssize_t length;
    Py_BEGIN_ALLOW_THREADS
    length = tally_counts(counts.buf, counts.shape[0], each, histogram.buf, histogram.shape[0]);
    Py_END_ALLOW_THREADS
    result = length < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(length);
histogram:
    PyBuffer_Release(&histogram);
counts:
    PyBuffer_Release(&counts);
    return result;
}

static PyObject *merge(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer rows, added, ends, found, totals;
    PyObject *result = NULL;
    if (!has_arguments(number, 5) || get_buffer(given[0], &rows, 8, 1, PyBUF_C_CONTIGUOUS, "rows") < 0)
        return NULL;
    if (get_buffer(given[1], &added, 8, 1, PyBUF_C_CONTIGUOUS, "added") < 0)
        goto rows;
    if (get_buffer(given[2], &ends, 8, 1, PyBUF_C_CONTIGUOUS, "ends") < 0)
        goto added;
    if (get_buffer(given[3], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto ends;
    if (get_buffer(given[4], &totals, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "totals") < 0)
        goto found;
    const int64_t *upto = ends.buf;
    Py_ssize_t lists = ends.shape[0], size = rows.shape[0], count = -1;
    int fits = lists <= LISTS && added.shape[0] == size && found.shape[0] >= size && totals.shape[0] >= size;
    for (Py_ssize_t list = 0; fits && list < lists; list++)
        fits = upto[list] >= (list ? upto[list - 1] : 0) && upto[list] <= size;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        count = merge_rows(rows.buf, added.buf, upto, lists, found.buf, totals.buf);
        Py_END_ALLOW_THREADS
    }
    if (count < 0)
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit, or rows do not ascend");
    else
        result = PyLong_FromSsize_t(count);
    PyBuffer_Release(&totals);
found:
    PyBuffer_Release(&found);
ends:
    PyBuffer_Release(&ends);
added:
    PyBuffer_Release(&added);
rows:
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *gather(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer values, further, segments, numbers, rows, naming;
    PyObject *result = NULL;
    if (!has_arguments(number, 6) || PyObject_GetBuffer(given[0], &values, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    if (get_buffer(given[1], &further, 4, 1, PyBUF_C_CONTIGUOUS, "further") < 0)
        goto values;
    if (get_buffer(given[2], &segments, 8, 2, PyBUF_C_CONTIGUOUS, "segments") < 0)
        goto further;
    if (get_buffer(given[3], &numbers, 4, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "numbers") < 0)
        goto segments;
    if (get_buffer(given[4], &rows, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "rows") < 0)
        goto numbers;
    if (get_buffer(given[5], &naming, 1, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "naming") < 0)
        goto rows;
    Py_ssize_t room = numbers.shape[0];
    int fits = segments.shape[1] == 4 && rows.shape[0] == room && naming.shape[0] == room && values.ndim == 1 &&
               (values.itemsize == 1 || values.itemsize == 2 || values.itemsize == 4);
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        fits = gather_segments(values.buf, values.itemsize, values.shape[0], further.buf, further.shape[0], segments.buf,
                               segments.shape[0], numbers.buf, rows.buf, naming.buf, room);
        Py_END_ALLOW_THREADS
    }
    if (fits) {
        Py_INCREF(Py_None);
        result = Py_None;
    } else
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit, or a segment is out of range");
    PyBuffer_Release(&naming);
rows:
    PyBuffer_Release(&rows);
numbers:
    PyBuffer_Release(&numbers);
segments:
    PyBuffer_Release(&segments);
further:
    PyBuffer_Release(&further);
values:
    PyBuffer_Release(&values);
    return result;
}

static PyObject *near(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer spelled, bounds, word, places;
    PyObject *result = NULL;
    if (!has_arguments(number, 5))
        return NULL;
    long most = PyLong_AsLong(given[3]);
    if (PyErr_Occurred())
        return NULL;
    if (get_buffer(given[0], &spelled, 1, 1, PyBUF_C_CONTIGUOUS, "spelled") < 0)
        return NULL;
    if (get_buffer(given[1], &bounds, 8, 1, PyBUF_C_CONTIGUOUS, "bounds") < 0)
        goto spelled;
    if (get_buffer(given[2], &word, 1, 1, PyBUF_C_CONTIGUOUS, "word") < 0)
        goto bounds;
    if (get_buffer(given[4], &places, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "places") < 0)
        goto word;
    const int64_t *ends = bounds.buf;
    Py_ssize_t count = bounds.shape[0] - 1;
    int fits = count >= 0 && places.shape[0] >= count && most >= 0 && most < LONGEST;
    for (Py_ssize_t place = 0; fits && place <= count; place++)
        fits = ends[place] >= (place ? ends[place - 1] : 0) && ends[place] <= spelled.shape[0];
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit");
        goto places;
    }
    int64_t *found = places.buf;
    Py_ssize_t size = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t place = 0; place < count; place++)
        if (may_be_near(word.buf, word.shape[0], (const uint8_t *)spelled.buf + ends[place],
                        (Py_ssize_t)(ends[place + 1] - ends[place]), (int)most))
            found[size++] = place;
    Py_END_ALLOW_THREADS
    result = PyLong_FromSsize_t(size);
places:
    PyBuffer_Release(&places);
word:
    PyBuffer_Release(&word);
bounds:
    PyBuffer_Release(&bounds);
spelled:
    PyBuffer_Release(&spelled);
    return result;
}

static PyObject *holders(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer numbers, rows, terms, ends, found;
    PyObject *result = NULL;
    if (!has_arguments(number, 5) || get_buffer(given[0], &numbers, 4, 1, PyBUF_C_CONTIGUOUS, "numbers") < 0)
        return NULL;
    if (get_buffer(given[1], &rows, 8, 1, PyBUF_C_CONTIGUOUS, "rows") < 0)
        goto numbers;
    if (get_buffer(given[2], &terms, 4, 1, PyBUF_C_CONTIGUOUS, "terms") < 0)
        goto rows;
    if (get_buffer(given[3], &ends, 8, 1, PyBUF_C_CONTIGUOUS, "ends") < 0)
        goto terms;
    if (get_buffer(given[4], &found, 1, 2, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto ends;
    const int64_t *upto = ends.buf;
    Py_ssize_t clauses = ends.shape[0];
    int fits = rows.shape[0] >= numbers.shape[0] && found.shape[0] == clauses;
    for (Py_ssize_t clause = 0; fits && clause < clauses; clause++)
        fits = upto[clause] >= (clause ? upto[clause - 1] : 0) && upto[clause] <= terms.shape[0];
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        fits = CHOOSE(holders)(numbers.buf, numbers.shape[0], rows.buf, terms.buf, upto, clauses, found.shape[1],
                               found.buf);
        Py_END_ALLOW_THREADS
    }
    if (fits) {
        Py_INCREF(Py_None);
        result = Py_None;
    } else
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit, or there is no such row");
    PyBuffer_Release(&found);
ends:
    PyBuffer_Release(&ends);
terms:
    PyBuffer_Release(&terms);
rows:
    PyBuffer_Release(&rows);
numbers:
    PyBuffer_Release(&numbers);
    return result;
}

/* Returns None for 1, or raises what another outcome means. */
static PyObject *outcome(int done)
{
    if (!done)
        return PyErr_NoMemory();
    if (done < 0) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit, or there is no such row");
        return NULL;
    }
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *likely(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer numbers, rows, weights, known, found;
    PyObject *result = NULL;
    if (!has_arguments(number, 6))
        return NULL;
    long words = PyLong_AsLong(given[4]);
    if (PyErr_Occurred())
        return NULL;
    if (get_buffer(given[0], &numbers, 4, 1, PyBUF_C_CONTIGUOUS, "numbers") < 0)
        return NULL;
    if (get_buffer(given[1], &rows, 8, 1, PyBUF_C_CONTIGUOUS, "rows") < 0)
        goto numbers;
    if (get_buffer(given[2], &weights, 8, 1, PyBUF_C_CONTIGUOUS, "weights") < 0)
        goto rows;
    if (get_buffer(given[3], &known, 4, 1, PyBUF_C_CONTIGUOUS, "known") < 0)
        goto weights;
    if (get_buffer(given[5], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto known;
    int done = -1;
    if (rows.shape[0] >= numbers.shape[0] && weights.shape[0] <= 1 << 10 && words >= 0 && words <= 1 << 10) {
        Py_BEGIN_ALLOW_THREADS
        done = share_words(numbers.buf, rows.buf, numbers.shape[0], weights.buf, weights.shape[0], known.buf,
                           known.shape[0], words, found.buf, found.shape[0]);
        Py_END_ALLOW_THREADS
    }
    result = outcome(done);
    PyBuffer_Release(&found);
known:
    PyBuffer_Release(&known);
weights:
    PyBuffer_Release(&weights);
rows:
    PyBuffer_Release(&rows);
numbers:
    PyBuffer_Release(&numbers);
    return result;
}

static PyObject *asked(PyObject *self, PyObject *const *given, Py_ssize_t number)
{
    (void)self;
    Py_buffer numbers, rows, marked, known, found;
    PyObject *result = NULL;
    if (!has_arguments(number, 5) || get_buffer(given[0], &numbers, 4, 1, PyBUF_C_CONTIGUOUS, "numbers") < 0)
        return NULL;
    if (get_buffer(given[1], &rows, 8, 1, PyBUF_C_CONTIGUOUS, "rows") < 0)
        goto numbers;
    if (get_buffer(given[2], &marked, 1, 1, PyBUF_C_CONTIGUOUS, "marked") < 0)
        goto rows;
    if (get_buffer(given[3], &known, 4, 1, PyBUF_C_CONTIGUOUS, "known") < 0)
        goto marked;
    if (get_buffer(given[4], &found, 8, 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, "found") < 0)
        goto known;
    int done = -1;
    if (rows.shape[0] >= marked.shape[0] && numbers.shape[0] >= marked.shape[0]) {
        Py_BEGIN_ALLOW_THREADS
        done = share_known(numbers.buf, rows.buf, marked.buf, marked.shape[0], known.buf, known.shape[0], found.buf,
                           found.shape[0]);
        Py_END_ALLOW_THREADS
    }
    result = outcome(done);
    PyBuffer_Release(&found);
known:
    PyBuffer_Release(&known);
marked:
    PyBuffer_Release(&marked);
rows:
    PyBuffer_Release(&rows);
numbers:
    PyBuffer_Release(&numbers);
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
    {"places", (PyCFunction)(void (*)(void))places, METH_FASTCALL, "Find values among ascending ones."},
    {"ranks", (PyCFunction)(void (*)(void))ranks, METH_FASTCALL, "Find the ranks and scores of ids."},
    {"best", (PyCFunction)(void (*)(void))best, METH_FASTCALL, "Sort the rows of highest score."},
    {"products", (PyCFunction)(void (*)(void))products, METH_FASTCALL, "Multiply rows with a vector."},
    {"between", (PyCFunction)(void (*)(void))between, METH_FASTCALL, "Write the places of the counts in a range."},
    {"tally", (PyCFunction)(void (*)(void))tally, METH_FASTCALL, "Count the rows of each count."},
    {"merge", (PyCFunction)(void (*)(void))merge, METH_FASTCALL, "Sum what lists of ascending rows add to each row."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL, "Copy segments of numbers one after another."},
    {"near", (PyCFunction)(void (*)(void))near, METH_FASTCALL, "Write the places of the words near another."},
    {"holders", (PyCFunction)(void (*)(void))holders, METH_FASTCALL, "Mark the passages that contain each clause."},
    {"likely", (PyCFunction)(void (*)(void))likely, METH_FASTCALL, "Sum the likeliest words of the best passages."},
    {"asked", (PyCFunction)(void (*)(void))asked, METH_FASTCALL, "Compute the shares of terms that are known."},
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
