import {
  InvalidNameError,
  parseActionName,
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { parseCredentialsRequest } from '@signet/server/cloud/credentials-request';
import { InvalidRequestError } from '@signet/server/errors';
import { names } from '@signet/server/http/openapi/names';
import { parseProviderName } from '@signet/server/instances/instance-request';
import { readMembers } from '@signet/server/management/documents/members';
import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';

/* The patterns of the document accept what the parsers of the server accept, and nothing else. */

const domain = parseDomainName('media');

const parsers: Readonly<Record<keyof typeof names, readonly ((text: string) => unknown)[]>> = {
  ActionName: [parseActionName],
  DomainName: [parseDomainName],
  EntityName: [parseRoleName, parsePolicyName],
  ServiceName: [parseServiceName],
  ProviderName: [parseProviderName],
  MemberName: [memberOf],
  KeyId: [parseKeyId],
  PathElement: [parsePathElement],
  AWSArnRoleName: [(text) => parseCredentialsRequest(domain, text, {})],
  Timestamp: [],
  Thumbprint: [thumbprintOf],
};

function memberOf(text: string): unknown {
  const reader = { problems: [], read: (_: unknown, parse: () => unknown) => parse(), fields: () => ({}) };
  return readMembers(reader as never, [], [text], 'role');
}

/** Parses the hash of anything as a thumbprint. */
function thumbprintOf(text: string): void {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== 32 || bytes.toString('base64url') !== text) throw new InvalidRequestError('thumbprint');
}

/** True if a parser accepts a text. */
function accepts(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof InvalidNameError || error instanceof InvalidRequestError) return false;
    throw error;
  }
}

/** Characters that stand in some names, and some that stand in none. */
const characters = [...'abzAZ09_-.:*@$,=~+\\/% \n\u00e9'];
const words = fc.constantFrom('media', 'play*', 'group.', 'a:group.b', 'a.b', '.', '..', '*', ':');
const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...characters), maxLength: 8 }),
  fc.array(words, { maxLength: 4 }).map((parts) => parts.join('')),
  fc.integer({ min: 60, max: 580 }).map((length) => 'a'.repeat(length)),
  fc.integer({ min: 250, max: 260 }).map((length) => `${'a'.repeat(length - 2)}.b`),
  fc.uint8Array({ minLength: 31, maxLength: 33 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  fc.base64String({ minLength: 43, maxLength: 44 }),
);

const pairs = Object.entries(parsers).flatMap(([name, all]) => all.map((parse, index) => ({ name, parse, index })));

for (const { name, parse, index } of pairs) {
  test(`${name} is what its parser ${index + 1} accepts`, (t) => {
    const { pattern = '', minLength = 0, maxLength = Infinity } = z.toJSONSchema(names[name as keyof typeof names]);
    const grammar = new RegExp(pattern, 'u');
    const fits = (text: string) => text.length >= minLength && text.length <= maxLength && grammar.test(text);
    let accepted = 0;
    const isSame = (text: string) => {
      if (accepts(parse, text)) accepted += 1;
      return fits(text) === accepts(parse, text);
    };
    fc.assert(fc.property(anyText, isSame), { numRuns: 5000 });
    t.true(accepted > 50, `${accepted} texts are accepted`);
  });
}
