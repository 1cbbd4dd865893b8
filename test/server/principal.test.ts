import { parsePrincipalName } from '@signet/policy-engine/names';
import { UnauthenticatedError } from '@signet/server/errors';
import { type ClientCertificate, checkClientCertificate } from '@signet/server/principal';
import test from 'ava';
import { snapshotOf } from '#support/domains';

const snapshot = snapshotOf({
  media: { services: ['player', { name: 'gone', enabled: false }] },
  dark: { enabled: false, services: ['player'] },
});
const [begins, ends] = [1_000_000, 2_000_000];

/** Whether a certificate of this name counts at this time; the message where it does not. */
function outcome(name: string, now = begins, revoked: readonly string[] = []): string {
  const certificate = {
    principal: { kind: 'identity', name: parsePrincipalName(name) },
    notBefore: begins,
    notAfter: ends,
    serial: '0a',
  } as unknown as ClientCertificate;
  try {
    const principal = checkClientCertificate(certificate, snapshot, (serial) => revoked.includes(serial), now);
    return principal.kind === 'identity' ? principal.name : 'a role';
  } catch (error) {
    if (error instanceof UnauthenticatedError) return error.message;
    throw error;
  }
}

const late = 'client certificate is not valid now';
const unknown = 'client certificate names no enabled service';
const cases: [note: string, outcome: () => string, expected: string][] = [
  ['at its first instant', () => outcome('media.player', begins), 'media.player'],
  ['before it', () => outcome('media.player', begins - 1), late],
  ['at its last instant', () => outcome('media.player', ends), 'media.player'],
  ['after it', () => outcome('media.player', ends + 1), late],
  ['revoked', () => outcome('media.player', begins, ['0a']), 'client certificate was revoked'],
  ['while another is revoked', () => outcome('media.player', begins, ['0b']), 'media.player'],
  ['of a disabled service', () => outcome('media.gone'), unknown],
  ['of a service that is not there', () => outcome('media.nobody'), unknown],
  ['of a service of a disabled domain', () => outcome('dark.player'), unknown],
  ['of a service of a domain that is not there', () => outcome('nowhere.player'), unknown],
  ['of a user', () => outcome('user.joe'), 'user.joe'],
  ['of a service that begins like a user', () => outcome('user.joe.laptop'), unknown],
  ['of a service in a domain that begins like the users', () => outcome('users.joe'), unknown],
];
for (const [note, found, expected] of cases) test(`a client certificate ${note}`, (t) => t.is(found(), expected));
