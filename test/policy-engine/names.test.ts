import { parseDomainName, parseKeyId, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
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
    else t.throws(() => parsePrincipalName(given, 'who'), { message: 'who is not a valid PrincipalName' });
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
