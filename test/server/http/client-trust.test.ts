import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openClientTrust } from '@signet/server/http/client-trust';
import test, { type ExecutionContext } from 'ava';
import { type MadeCertificate, makeCertificate } from '#support/certificate-maker';
import { temporaryFolder } from '#support/temp';

/* Authorities to which a certificate of a connection chains now, whatever its handshake was checked against. */

const authority = (name: string, issuer?: MadeCertificate) =>
  makeCertificate({ name, isAuthority: true, ...(issuer !== undefined && { issuer }) });
const root = await authority('Root');
/** Another authority of the same name. */
const twin = await authority('Root');
const other = await authority('Other');
const intermediate = await authority('Intermediate', root);
const leaf = await makeCertificate({ name: 'media.player', issuer: root });
const below = await makeCertificate({ name: 'media.player', issuer: intermediate });
const ofTwin = await makeCertificate({ name: 'media.player', issuer: twin });

function open(t: ExecutionContext, authorities: readonly MadeCertificate[], known: readonly MadeCertificate[] = []) {
  const file = join(temporaryFolder(t), 'authorities.pem');
  const write = (list: readonly MadeCertificate[]) => writeFileSync(file, list.map(({ pem }) => pem).join(''));
  write(authorities);
  return { file, write, trust: openClientTrust(file, () => known.map(({ pem }) => pem).join('')) };
}

test('a certificate chains to an authority by name and signature, itself or through those that are known', (t) => {
  const direct = open(t, [other, root]).trust;
  t.true(direct.trusts(leaf.certificate));
  t.false(direct.trusts(ofTwin.certificate), 'the signature is of another authority of that name');
  t.false(direct.trusts(below.certificate), 'its issuer is not known');
  t.true(open(t, [root], [other, intermediate]).trust.trusts(below.certificate));
  t.false(open(t, [other], [intermediate]).trust.trusts(below.certificate));
  t.true(open(t, [intermediate]).trust.trusts(below.certificate), 'an intermediate that is an authority itself');
  t.false(open(t, []).trust.trusts(leaf.certificate));
});

test('a chain of eight certificates is followed, and none longer', async (t) => {
  const chain = [root];
  for (let length = 1; length < 9; length += 1) chain.push(await authority(`Below ${length}`, chain.at(-1)));
  const { trust } = open(t, [root], chain.slice(1));
  const at = (length: number) => trust.trusts((chain[length] ?? root).certificate);
  t.deepEqual([at(1), at(8)], [true, true]);
  const longest = await makeCertificate({ name: 'media.player', ...(chain[8] !== undefined && { issuer: chain[8] }) });
  t.false(trust.trusts(longest.certificate));
});

test('authorities that know each other in a circle end the search', async (t) => {
  const [one, two] = [await authority('Circle'), await authority('Circle')];
  const member = await makeCertificate({ name: 'media.player', issuer: one });
  t.false(open(t, [root], [one, two]).trust.trusts(member.certificate));
});

test('the generation grows when an authority was removed, and only then', (t) => {
  const { file, write, trust } = open(t, [root, other]);
  t.is(trust.generation, 0);
  write([root, other, twin]);
  trust.reload();
  t.is(trust.generation, 0, 'one more');
  write([twin, other, root]);
  trust.reload();
  t.is(trust.generation, 0, 'another order');
  write([root]);
  trust.reload();
  t.deepEqual([trust.generation, trust.trusts(leaf.certificate), trust.trusts(ofTwin.certificate)], [1, true, false]);
  write([twin]);
  trust.reload();
  t.deepEqual([trust.generation, trust.trusts(leaf.certificate), trust.trusts(ofTwin.certificate)], [2, false, true]);
  t.deepEqual(
    [leaf, ofTwin, below].map(({ certificate }) => trust.isWithdrawn(certificate)),
    [true, true, false],
    'removed, removed once and back, below one that is not known here',
  );
  unlinkSync(file);
  t.throws(() => trust.reload());
  t.deepEqual([trust.generation, trust.trusts(ofTwin.certificate)], [2, true], 'what cannot be read changes nothing');
});

test('a connection has the generation of its handshake, and one that was never met has none', (t) => {
  const { write, trust } = open(t, [root]);
  const connection = (remotePort: number) =>
    ({ remoteAddress: '127.0.0.1', remotePort, once: () => undefined }) as never;
  const [early, late, unknown] = [connection(1), connection(2), connection(3)];
  trust.began(early);
  trust.met(early);
  write([other]);
  trust.reload();
  trust.began(late);
  trust.met(late);
  t.deepEqual(
    [early, late, unknown].map((connection) => trust.handshakeOf(connection)),
    [0, 1, -1],
  );
});
