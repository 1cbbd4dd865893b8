/** The time as a parameter: everything that depends on it takes a `Clock`, so that tests own the time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** Whole seconds since the Unix epoch, as JWTs count (RFC 7519 §2, NumericDate). */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** UTC with three millisecond digits and `Z`, e.g. `2026-01-02T03:04:05.678Z`: the form of every timestamp in JSON. */
export function formatTimestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

const timestampGrammar = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/;

/** Milliseconds since the epoch of an RFC 3339 time in UTC, or `undefined` when the text is not one: also for a day or an hour that does not exist. */
export function parseTimestamp(text: string): number | undefined {
  if (!timestampGrammar.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  // `Date.parse` takes 30 February for 2 March, and 24:00 for 0:00 of the next day.
  const isMoved = Number.isNaN(milliseconds) || formatTimestamp(milliseconds).slice(0, 19) !== text.slice(0, 19);
  return isMoved ? undefined : milliseconds;
}

/** The time as the object that some libraries insist on. */
export function toDate(milliseconds: number): Date {
  return new Date(milliseconds);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/;

/** Milliseconds since the epoch of an IMF-fixdate (RFC 9110 §5.6.7), or `undefined` when the text is not one. */
export function parseHttpDate(text: string): number | undefined {
  const [, day, name = '', year, time] = httpDate.exec(text) ?? [];
  const month = months.indexOf(name) + 1;
  return month === 0 ? undefined : parseTimestamp(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`);
}

/** The same text of a time in milliseconds since the epoch. */
export function formatHttpDate(milliseconds: number): string {
  return new Date(milliseconds).toUTCString();
}
