import { parseTimestamp } from '@signet/policy-engine/clock';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/;

/** Milliseconds since the epoch of an IMF-fixdate (RFC 9110 §5.6.7), or `undefined` when the text is not one. */
export function parseHttpDate(text: string): number | undefined {
  const [, day, name = '', year, time] = httpDate.exec(text) ?? [];
  const month = months.indexOf(name) + 1;
  return month === 0 ? undefined : parseTimestamp(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`);
}
