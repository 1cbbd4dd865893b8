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

/** Decisions that take longer than others should have to wait: whoever asks for several pauses in between, which is counted. */
export function costlyDecisions(): { decide(): boolean; pauses(): number } {
  let pauses = 0;
  let hasPaused = false;
  return {
    decide: () => {
      if (hasPaused) pauses += 1;
      const end = performance.now() + 5;
      while (performance.now() < end);
      hasPaused = false;
      setImmediate(() => {
        hasPaused = true;
      });
      return true;
    },
    pauses: () => pauses,
  };
}
