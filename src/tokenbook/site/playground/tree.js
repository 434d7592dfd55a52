// Every response of a task, as a tree. A state is a prefix; child[s * V + a] is where word a leads
// from state s: another state, CLOSED (the response ends with it) or NO_WORD (not allowed here).
const CLOSED = -1, NO_WORD = -2;

function grow(task) {
  const V = task.words.length, P = task.asked.length;
  const prefixes = [""], child = [], start = [], world = [];
  for (let s = 0; s < prefixes.length; s++) {
    const prefix = prefixes[s], told = task.world_at.includes(prefix.length);
    world.push(told);
    for (const word of task.words) {
      const first = prefix ? undefined : task.start["^" + word];
      start.push(first ?? task.start[word] ?? 0);
      if (task.world.includes(word) !== told) child.push(NO_WORD);
      else if (word === "$" || prefix.length === task.max_response - 1)
        child.push(CLOSED);
      else child.push(prefixes.push(prefix + word) - 1);
    }
  }
  const S = prefixes.length;
  const paid = [], right = [];
  for (const asked of task.asked) {
    const pays = Object.entries(asked.pays).map(([like, pay]) => [RegExp(like), pay]);
    const good = RegExp(asked.right);
    const each = (verdict) => Float64Array.from(child, (next, k) =>
      next === CLOSED ? verdict(prefixes[(k / V) | 0] + task.words[k % V]) : 0);
    paid.push(each((text) =>
      pays.reduce((sum, [like, pay]) => sum + (like.test(text) ? pay : 0), 0)));
    right.push(each((text) => +good.test(text)));
  }
  return {
    V, S, P, T: task.max_response, words: task.words, prefixes, paid, right,
    child: Int32Array.from(child), start: Float64Array.from(start),
    world: Uint8Array.from(world),
  };
}

// The row of the policy's table for a state of a prompt. A shared row generalises from one place to
// another.
const SHARING = {
  nothing: (tree, q, s) => q * tree.S + s,
  prompts: (tree, q, s) => s,
  "last word": (tree, q, s) => {
    const words = tree.prefixes[s];
    return words ? tree.words.indexOf(words.at(-1)) : tree.V;
  },
  everything: () => 0,
};
