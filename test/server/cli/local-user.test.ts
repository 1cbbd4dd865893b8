import { userInfo } from 'node:os';
import { localActor } from '@signet/server/cli/local-user';
import test from 'ava';

const actors: readonly (readonly [note: string, sudoUser: string | undefined, user: string, expected: string])[] = [
  ['a user', undefined, 'jane', 'local:jane'],
  ['the superuser', undefined, 'root', 'local:root'],
  ['who became the superuser', 'jane', 'root', 'local:root (sudo by jane)'],
  ['a name with a realm', 'jane@corp.example', 'root', 'local:root (sudo by jane@corp.example)'],
  ['the superuser by way of sudo', 'root', 'root', 'local:root'],
  ['a user who claims to be somebody else', 'root', 'jane', 'local:jane'],
  ['an empty name', '', 'root', 'local:root'],
  ['a name that would read as another record', 'a) local:bob\n', 'root', 'local:root'],
  ['a name that is too long', 'j'.repeat(65), 'root', 'local:root'],
];

for (const [note, sudoUser, user, expected] of actors) {
  test(`the actor of a local command: ${note}`, (t) => t.is(localActor({ SUDO_USER: sudoUser }, user), expected));
}

test('without being told, the actor is the user of this process', (t) => {
  t.is(localActor({}), `local:${userInfo().username}`);
});
