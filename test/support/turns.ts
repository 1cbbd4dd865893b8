/** Counts the turns of the event loop from now until the answer is called: each one in which others could have done something. */
export function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  return () => {
    clearImmediate(next);
    return turns;
  };
}
