import { InvalidNameError, parseDomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import { parseHostName, parseLogin } from '@signet/server/ssh/ssh-names';
import test from 'ava';

const estate = parseDomainName('sys.logins');

const logins: readonly (readonly [text: string, principal: string, resource: string])[] = [
  ['deploy', 'deploy', 'sys.logins:ssh.deploy'],
  ['media:deploy', 'media:deploy', 'media:ssh.deploy'],
  ['Media:deploy', 'media:deploy', 'media:ssh.deploy'],
  ['_a', '_a', 'sys.logins:ssh._a'],
  ['a.b-', 'a.b-', 'sys.logins:ssh.a.b-'],
  ['a'.repeat(32), 'a'.repeat(32), `sys.logins:ssh.${'a'.repeat(32)}`],
];
for (const [text, principal, resource] of logins) {
  test(`a login: ${text}`, (t) => {
    const login = parseLogin(text, estate);
    t.deepEqual([login.principal, login.resource], [principal, resource]);
    t.is(resource, `${login.domain}:ssh.${text.slice(text.indexOf(':') + 1)}`);
  });
}

for (const text of ['', 'Deploy', '1a', 'a.', 'a b', '*', 'a*', 'a'.repeat(33), 'media:', 'media:Deploy']) {
  test(`no login: ${JSON.stringify(text)}`, (t) => {
    const message = 'principals must be logins, `login` or `domain:login`';
    t.throws(() => parseLogin(text, estate), { instanceOf: InvalidRequestError, message });
  });
}

for (const text of [':deploy', 'me dia:deploy', '*:deploy']) {
  test(`no domain of a login: ${text}`, (t) => {
    t.throws(() => parseLogin(text, estate), { instanceOf: InvalidNameError });
  });
}

const label = 'a'.repeat(63);
const longest = `${label}.${label}.${label}.${'b'.repeat(61)}`;
for (const name of ['h1', 'h1.example.com', 'H1.Example.com', '_x.example.com', label, longest]) {
  test(`a host name of ${name.length} characters: ${name.slice(0, 20)}`, (t) =>
    t.is(parseHostName(name), name.toLowerCase()));
}
for (const name of ['', '.', 'h1.', '.h1', '*', '*.example.com', 'h?', '!h1', '-h', 'h-', `${label}a`, `${longest}b`]) {
  test(`no host name, of ${name.length} characters: ${name.slice(0, 20)}`, (t) => {
    const message = 'principals must be host names';
    t.throws(() => parseHostName(name), { instanceOf: InvalidRequestError, message });
  });
}
