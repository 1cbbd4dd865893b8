import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { DerError, type DerReader, element, tags } from '@signet/policy-engine/internal/der';
import { LRUCache } from 'lru-cache';

/* The certificates of one second have the same times: they are written once, and read once. */
const written = new LRUCache<number, Buffer>({ max: 16 });
const read = new LRUCache<string, number>({ max: 16 });

/** The year from which times are written as GeneralizedTime (RFC 5280 §4.1.2.5). */
const firstGeneralizedYear = 2050;

/** A Time as RFC 5280 §4.1.2.5 wants it: UTCTime until 2049, GeneralizedTime from 2050. `seconds` since the epoch. */
export function writeTime(seconds: number): Buffer {
  const known = written.get(seconds);
  if (known !== undefined) return known;
  const time = encodeTime(seconds);
  written.set(seconds, time);
  return time;
}

function encodeTime(seconds: number): Buffer {
  const digits = formatTimestamp(seconds * 1000).replace(/\.\d+Z$|[-T:]/g, '');
  return Number(digits.slice(0, 4)) < firstGeneralizedYear
    ? element(tags.utcTime, Buffer.from(`${digits.slice(2)}Z`, 'latin1'))
    : element(tags.generalizedTime, Buffer.from(`${digits}Z`, 'latin1'));
}

const timeGrammar = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** Reads a Time; answers seconds since the epoch. Throws `DerError`. */
export function readTime(reader: DerReader, what: string): number {
  const { tag, content } = reader.any(what);
  const text = `${tag} ${content.toString('latin1')}`;
  const known = read.get(text);
  if (known !== undefined) return known;
  const seconds = decodeTime(tag, content.toString('latin1'));
  if (seconds === undefined) throw new DerError(`${what} is not a time`);
  read.set(text, seconds);
  return seconds;
}

function decodeTime(tag: number, text: string): number | undefined {
  const century = tag === tags.generalizedTime ? '' : Number(text.slice(0, 2)) < 50 ? '20' : '19';
  const match = tag === tags.utcTime || tag === tags.generalizedTime ? timeGrammar.exec(century + text) : null;
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const milliseconds = parseTimestamp(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}
