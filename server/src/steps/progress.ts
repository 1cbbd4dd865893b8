/** Callback for the progress of long work: `what` is done (`copying rows`), how much of it, and the total where that is known. */
export type OnProgress = (what: string, done: number, total?: number) => void;
