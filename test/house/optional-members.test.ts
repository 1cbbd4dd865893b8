import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/* One way to leave out a member: `...(reason !== undefined && { reason })`. */

const top = fileURLToPath(new URL('../..', import.meta.url));
const otherWay = /\.\.\.\((?:[^()]|\([^()]*\))*?(?:\? \{\} :|: \{\}\))/;

test('what another way looks like', (t) => {
  for (const code of ['...(a === undefined ? {} : { a })', '...(isEmpty(a) ? {} : { a })', '...(a ? { a } : {})']) {
    t.regex(code, otherWay);
  }
  for (const code of ['...(a !== undefined && { a })', 'headers: a === undefined ? {} : { a }', '...definedOnly(a)']) {
    t.notRegex(code, otherWay);
  }
});

test('members are left out in one way', (t) => {
  const files = globSync('{policy-engine,client,updater,server,example-provider}/src/**/*.ts', { cwd: top });
  t.true(files.length > 400);
  const found = files.filter((file) => otherWay.test(readFileSync(join(top, file), 'utf8')));
  t.deepEqual(found, []);
});
