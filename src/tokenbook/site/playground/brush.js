// A checker that the reader paints: strokes on the tree of all responses. A stroke is a beginning
// and the reward of every response that has it; a later stroke covers an earlier.
const BRUSHES = [0, 1, 2], STROKES = 5;
const SURVIVES = 0.9; // people satisfied, in every seed
const FOOLED = 0.4; // the checker satisfied by so much more than people
const LEARNED = 0.5; // of people or of the checker: something was learned

const begins = (text, { at }) => text.startsWith(at);
const textOf = ({ prefixes, words, V }, k) => prefixes[(k / V) | 0] + words[k % V];

// The tree with the rewards of its responses after those strokes.
function painted(tree, strokes) {
  const pay = (was, k) =>
    tree.child[k] === CLOSED
      ? strokes.findLast((one) => begins(textOf(tree, k), one))?.pay ?? was : 0;
  return { ...tree, paid: tree.paid.map((all) => all.map(pay)) };
}

const highest = ({ paid }) => Math.max(...paid.flatMap((all) => [...all]));

// Strokes as an address has them: “c1.cc72” pays 1 for c.. and 2 for cc7.
const strokesText = (strokes) => strokes.map(({ at, pay }) => at + pay).join(".");

function strokesOf(text, { words, max_response: most }) {
  const strokes = text.split(".").filter(Boolean)
    .map((one) => ({ at: one.slice(0, -1), pay: Number(one.at(-1)) }));
  const known = ({ at, pay }) => BRUSHES.includes(pay) && at.length > 0
    && at.length <= most && [...at].every((word) => words.includes(word));
  return strokes.length <= STROKES && strokes.every(known) ? strokes : undefined;
}

// The outcome of a checker: every seed's share of wanted responses, and its reward as a share of
// the highest. `n` is the number in its words: the first iteration of the last stretch in which it
// was fooled, or people in the worst seed, rounded down; one that overflowed has 0.
function verdict(people, checker) {
  const gaps = people.map((x, n) => median(checker[n]) - median(x));
  const [last, pay] = [people.at(-1), checker.at(-1)];
  if (last.every((x) => x >= SURVIVES)) return { how: "survives" };
  if (gaps.at(-1) > FOOLED)
    return { how: "fooled", n: gaps.findLastIndex((gap) => !(gap > FOOLED)) + 1 };
  if (!(median(last) >= LEARNED || median(pay) >= LEARNED)) return { how: "lost" };
  const least = Math.min(...last.map((x) => x || 0));
  return { how: "short", n: (Math.floor(100 * least) / 100).toFixed(2) };
}

function median(values) {
  const sorted = values.filter((x) => x === x).sort((one, two) => one - two), n = sorted.length;
  return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : NaN;
}
