/** How far long work is: `what` is done (`copying rows`), how much of it, and of how much where that is known. */
export type OnProgress = (what: string, done: number, total?: number) => void;
