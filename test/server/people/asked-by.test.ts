import { X509Certificate } from 'node:crypto';
import test from 'ava';
import { field, instanceDomains, instanceWorld, json, keyPem, refresh, register } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { wholeFile } from '#support/start-server';

/* Who asked for a certificate, as approvals need it: nobody passes for another by asking twice. */

const [system, ...others] = instanceDomains;
const desk = {
  ...system,
  roles: { ...system.roles, desk: ['user.anna', 'user.berta', 'user.carla'] },
  policies: { ...system.policies, desk: [['ALLOW', 'desk', 'issue_certificate', 'principal.user.*']] },
} as const;

const file = wholeFile();
const world = await instanceWorld(file, { domains: [desk, ...others] });
test.after.always(() => file.end());

interface Held {
  readonly certificate: string;
  readonly key: string;
}

async function issue(as: Held, principal: string): Promise<Held> {
  const pair = ecPair();
  const csr = requestPem(pair, { commonNames: [principal] });
  const { status, body } = await world.as(as)(`/principal/${principal}/certificate`, json({ csr }));
  if (status !== 200) throw new Error(JSON.stringify(body));
  return { certificate: String(field(body, 'certificate')), key: keyPem(pair) };
}

function askers({ certificate }: Pick<Held, 'certificate'>): Promise<readonly string[]> {
  const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
  return world.store.view((reader) => reader.certificateAskedBy(serial));
}

test('a certificate from elsewhere was asked for by nobody that is known, also where its holder asks for another', async (t) => {
  const anna = await world.pki.identity('user.anna');
  t.deepEqual(await askers(anna), []);
  t.deepEqual(await askers(await issue(anna, 'user.anna')), []);
});

test('who asks for another is known, with who asked for the certificate that asks', async (t) => {
  const berta = await issue(await world.pki.identity('user.anna'), 'user.berta');
  t.deepEqual(await askers(berta), ['user.anna']);
  t.deepEqual(await askers(await issue(berta, 'user.berta')), ['user.anna'], 'not by asking for itself');
  const carla = await issue(await issue(berta, 'user.berta'), 'user.carla');
  t.deepEqual(await askers(carla), ['user.anna', 'user.berta'], 'not by asking through another');
  const anna = await issue(carla, 'user.anna');
  t.deepEqual(await askers(anna), ['user.anna', 'user.berta', 'user.carla'], 'each once');
  t.deepEqual(await askers(await issue(anna, 'user.anna')), ['user.anna', 'user.berta', 'user.carla']);
});

test('an instance was asked for by who made its join token, and stays so', async (t) => {
  const first = await register(world, 'asked-1');
  t.is(first.answer.status, 201);
  t.deepEqual(await askers(first), ['media.admin']);
  const second = await refresh(world, first);
  t.is(second.answer.status, 200);
  t.deepEqual(await askers(second), ['media.admin']);
});

test('the record of a certificate names who asked', async (t) => {
  const { certificate } = await issue(await world.pki.identity('user.anna'), 'user.dora');
  const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
  t.deepEqual((await world.store.certificates.find(serial))?.askers, ['user.anna']);
  t.deepEqual(await world.store.view((reader) => reader.certificateAskedBy('00')), []);
});
