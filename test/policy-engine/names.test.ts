import {
  foldAscii,
  InvalidNameError,
  type PrincipalName,
  parseActionName,
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parsePathElement,
  parsePolicyName,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import test from 'ava';

/* Names as they come from outside: what is folded, what is completed, and what is none. */

const long = (length: number) => 'a'.repeat(length);

const principals: [given: unknown, name: string | undefined][] = [
  ['media.player', 'media.player'],
  ['Media.Player', 'media.player'],
  ['sys.auth.operator', 'sys.auth.operator'],
  ['jane', 'user.jane'],
  ['JANE', 'user.jane'],
  ['media:group.Crew', 'media:group.crew'],
  ['media.tv:group.a.b', 'media.tv:group.a.b'],
  ['media:role.crew', undefined],
  ['media:group.', undefined],
  [':group.crew', undefined],
  ['media:crew', undefined],
  ['media:group.crew:group.crew', undefined],
  ['', undefined],
  ['.', undefined],
  ['user.', undefined],
  ['a b', undefined],
  [7, undefined],
  [undefined, undefined],
];
for (const [given, name] of principals) {
  test(`a principal: ${JSON.stringify(given)}`, (t) => {
    if (name !== undefined) t.is(parsePrincipalName(given), name as never);
    else t.throws(() => parsePrincipalName(given, 'who'), { message: /^who is not a valid PrincipalName: / });
  });
}

test('a name is as long as it may be, and one character longer it is none', (t) => {
  const longest = [...Array(2000).keys()].findLast((length) => {
    try {
      return parseDomainName(long(length)) !== undefined;
    } catch {
      return false;
    }
  });
  t.truthy(longest);
  const most = longest ?? 0;
  for (const parse of [parseDomainName, parseServiceName, parseKeyId]) {
    t.is(parse(long(most)).length, most);
    t.throws(() => parse(long(most + 1)));
  }
  t.is(parsePrincipalName(`${long(most - 2)}.a`).length, most);
  t.throws(() => parsePrincipalName(`${long(most - 1)}.a`));
  t.throws(() => parsePrincipalName(long(most)), { message: /PrincipalName/ }, 'with `user.` before it it is too long');
  t.is(parsePrincipalName(`a:group.${long(most - 8)}`).length, most);
  t.throws(() => parsePrincipalName(`a:group.${long(most - 7)}`));
});

const cases: [parse: (value: unknown) => string, given: string, read: string][] = [
  [parseDomainName, 'Media.Video', 'media.video'],
  [parseServiceName, 'Player', 'player'],
  [parseRoleName, 'Reader', 'reader'],
  [parseGroupName, 'Readers', 'readers'],
  [parsePolicyName, 'Base', 'base'],
  [parseActionName, 'Read', 'read'],
  [parseKeyId, 'V1-a.B_c', 'V1-a.B_c'],
  [parsePathElement, 'I-0aB', 'I-0aB'],
  [parsePrincipalName, 'Media.Player', 'media.player'],
  [parsePrincipalName, 'Media:group.Readers', 'media:group.readers'],
];
for (const [parse, given, read] of cases) {
  test(`${given} is read as ${read}`, (t) => t.is(parse(given), read));
}

test('a principal is taken apart at its last dot, unless it is a group or bare', (t) => {
  const split = (name: string) => splitPrincipal(name as PrincipalName);
  t.deepEqual<unknown, unknown>(split('a.b.c'), { domain: 'a.b', service: 'c' });
  for (const none of ['a', '.a', 'a:group.b', '']) t.is(split(none), undefined, none);
});

test('only the letters from A to Z are folded', (t) => {
  t.is(foldAscii('ABCxyzZÄÉİ'), 'abcxyzzÄÉİ');
  t.is(foldAscii('äİ'), 'äİ');
});

test('what is no text is no name, even if it reads like one', (t) => {
  const parsers = [parseDomainName, parseServiceName, parseRoleName, parseKeyId, parsePathElement, parsePrincipalName];
  for (const parse of parsers) {
    for (const value of [['media'], { toString: () => 'media', length: 5 }, 7, null, undefined, true]) {
      t.throws(() => parse(value, 'it'), { message: /^it is not a valid / });
    }
  }
});

const words =
  'letters, digits, `_` and `-`, in words that do not begin with `-` and are joined by dots, at most 256 characters';
for (const [parse, kind, form] of [
  [parseDomainName, 'DomainName', words],
  [parseRoleName, 'RoleName', words],
  [parseGroupName, 'GroupName', words],
  [parsePolicyName, 'PolicyName', words],
  [parseActionName, 'ActionName', words],
  [
    parseServiceName,
    'ServiceName',
    'letters, digits, `_` and `-`, not beginning with `-`, and no dot, at most 256 characters',
  ],
  [
    parseKeyId,
    'KeyId',
    'letters, digits, `_`, `.` and `-`, beginning with a letter, a digit or `_`, at most 256 characters',
  ],
  [
    parsePathElement,
    'PathElement',
    'letters, digits and any of `- \\ . _ ~ = + @ $ , :`, but not `.` or `..` alone, at most 256 characters',
  ],
  [
    parsePrincipalName,
    'PrincipalName',
    'a service `domain.service`, a user `user.name` or a group `domain:group.name`, at most 256 characters',
  ],
] as const) {
  test(`what is no ${kind} is refused with what one consists of`, (t) => {
    t.throws(() => parse('/', 'it'), { instanceOf: InvalidNameError, message: `it is not a valid ${kind}: ${form}` });
  });
}
