import { createPrivateKey } from 'node:crypto';
import { buildKrl, type RevokedBy } from '@signet/server/ssh/krl';
import { createSshAuthorityKey, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import test from 'ava';

/* The octets of a revocation list, as PROTOCOL.krl of OpenSSH lays them down: a list without entries is an error there. */

const { publicKey: authority } = sshAuthorityOf(createPrivateKey(createSshAuthorityKey('ed25519')));

const uint32 = (value: number) => Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
const uint64 = (value: number) => Buffer.from(value.toString(16).padStart(16, '0'), 'hex');
const string = (value: string | Buffer) => Buffer.concat([uint32(Buffer.from(value).length), Buffer.from(value)]);
const section = (kind: number, ...parts: Buffer[]) => Buffer.concat([Buffer.of(kind), string(Buffer.concat(parts))]);

const header = Buffer.concat([Buffer.from('SSHKRL\n\0'), uint32(1), uint64(3), uint64(7), uint64(0), string('')]);
const certificates = (...lists: Buffer[]) => section(1, string(authority.blob), string(''), ...lists);
const serials = (...numbers: number[]) => section(0x20, ...numbers.map(uint64));
const keyIds = (...ids: string[]) => section(0x23, ...ids.map(string));

const cases: [note: string, revoked: Omit<RevokedBy, 'authority'>, sections: Buffer][] = [
  ['nothing', { serials: [], keyIds: [] }, Buffer.of()],
  ['a number', { serials: [5n], keyIds: [] }, certificates(serials(5))],
  ['a key id', { serials: [], keyIds: ['a'] }, certificates(keyIds('a'))],
  ['both', { serials: [5n], keyIds: ['a'] }, certificates(serials(5), keyIds('a'))],
  ['several', { serials: [9n, 5n, 9n], keyIds: ['b', 'a', 'b'] }, certificates(serials(5, 9), keyIds('a', 'b'))],
];
for (const [note, revoked, sections] of cases) {
  test(`a list that revokes ${note}`, (t) => {
    const built = buildKrl({ version: 3n, generatedAt: 7, comment: 'c', revoked: [{ authority, ...revoked }] });
    t.deepEqual(built.toString('hex'), Buffer.concat([header, string('c'), sections]).toString('hex'));
  });
}

test('a comment need not be given', (t) => {
  t.deepEqual(buildKrl({ version: 3n, generatedAt: 7, revoked: [] }), Buffer.concat([header, string('')]));
});

for (const [note, revoked] of [
  ['the number 0', { serials: [5n, 0n], keyIds: [] }],
  ['a number below 0', { serials: [-1n], keyIds: [] }],
  ['an empty key id', { serials: [], keyIds: ['a', ''] }],
] as const) {
  test(`${note} is not revoked: it would mean every certificate without one`, (t) => {
    const build = () => buildKrl({ version: 3n, generatedAt: 7, revoked: [{ authority, ...revoked }] });
    t.throws(build, { instanceOf: RangeError, message: /^a revoked (serial number is not 0|key id is not empty)$/ });
  });
}
