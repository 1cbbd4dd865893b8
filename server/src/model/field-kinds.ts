import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import {
  type DomainName,
  type PrincipalName,
  parseDomainName,
  parsePrincipalName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import { z } from 'zod';
import { InvalidRequestError } from '../errors.ts';
import type { Field } from './fields.ts';
import { notPlain, plainLine, plainLines } from './plain-text.ts';

/** A text that means nothing to the server. */
export const descriptionSchema = z.string().max(1024, 'must have at most 1,024 characters').regex(plainLines, notPlain);

export const secondsSchema = z
  .int('must be an integer (seconds)')
  .min(1, 'must be at least 1 second')
  .max(2_147_483_647, 'must be at most 2,147,483,647 seconds');

/** A text on one line, with something in it. */
export const textSchema = (max: number) =>
  z.string().min(1, 'must not be empty').max(max, `must have at most ${max} characters`).regex(plainLine, notPlain);

const maxUrlLength = 1024;
const urlSchema = textSchema(maxUrlLength).regex(/^\S*$/, 'must not hold blanks');

const same = <Value>(value: Value) => value;

/** The same in documents, records and tables. */
export function plain<C extends string, Value extends string | number>(
  column: C,
  schema: z.ZodType<Value>,
  sample: NoInfer<Value>,
): Field<C, Value, Value, Value> {
  return { column, schema, sample, parse: same, show: same, toCell: same, fromCell: same };
}

/** A small number; 0 is the same as nothing, and left out of records. */
export function count<C extends string>(column: C, max: number, sample: number): Field<C, number, number, number> {
  const schema = z.int('must be an integer').min(0, 'must be at least 0').max(max, `must be at most ${max}`);
  // An undefined value is left out of the record.
  const parse = (value: number) => (value === 0 ? undefined : value) as number;
  return { ...plain(column, schema, sample), parse };
}

/** The name of a domain, whether there is one or not. */
export function domain<C extends string>(column: C, sample: string): Field<C, string, DomainName, string> {
  const parse = (text: string) => parseDomainName(text);
  return { column, schema: z.string(), sample, parse, show: same, toCell: same, fromCell: parse };
}

/** Services, whether there are such or not: at least one, as none is said by leaving the field out. Kept in order, each once. */
export function services<C extends string>(column: C, max: number, sample: string[]) {
  const schema = z
    .array(z.string())
    .min(1, 'must name a service: leave it out for none')
    .max(max, `must have at most ${max} names`);
  const parse = (names: readonly string[]): readonly PrincipalName[] => [...new Set(names.map(parseService))].sort();
  const show = (names: readonly PrincipalName[]): string[] => [...names];
  const toCell = (names: readonly PrincipalName[]): string => names.join(' ');
  return { column, schema, sample, parse, show, toCell, fromCell: (cell: string) => parse(cell.split(' ')) };
}

function parseService(text: string): PrincipalName {
  const name = text.includes('.') ? parsePrincipalName(text) : undefined;
  const domain = name && splitPrincipal(name)?.domain;
  if (name === undefined || domain === undefined || domain === 'user' || domain.startsWith('user.')) {
    throw new InvalidRequestError('must be names of services such as `films.api`');
  }
  return name;
}

/** A moment to the millisecond. */
export function time<C extends string>(column: C, sample: string): Field<C, string, number, number> {
  return { column, schema: z.string(), sample, parse: parseTime, show: formatTimestamp, toCell: same, fromCell: same };
}

/** Throws `InvalidRequestError`. */
export function parseTime(text: string): number {
  const at = parseTimestamp(text);
  if (at === undefined) throw new InvalidRequestError('must be a UTC time such as `2027-01-01T00:00:00Z`');
  return at;
}

export function flag<C extends string>(column: C, normally: boolean) {
  const toWire = { schema: z.boolean(), sample: !normally, parse: same<boolean>, show: same<boolean> };
  return { column, default: normally, ...toWire, toCell: Number, fromCell: (cell: number) => cell === 1 };
}

/** Address of an endpoint. */
export function httpsUrl<C extends string>(column: C, sample: string): Field<C, string, string, string> {
  return { ...plain(column, urlSchema, sample), parse: parseHttpsUrl };
}

function parseHttpsUrl(text: string): string {
  const url = text.length <= maxUrlLength ? URL.parse(text) : null;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new InvalidRequestError('must be an `https:` address without user name and fragment');
  }
  return text;
}
