import { certificateThumbprint } from '@signet/policy-engine/token';
import test from 'ava';
import { startProvider } from '#support/start-provider';

/* The centralized patterns: what the token server is asked, and what its answers and silences lead to. */

const refused = { code: 403, message: 'access is not granted' };

test('central-token passes the principal token on, and only that', async (t) => {
  const provider = await startProvider(t);
  const as = provider.authority.certificate('media.player');
  for (const header of ['svc-principal-auth', 'athenz-principal-auth']) {
    const headers = { [header]: 'v=S1;d=media' };
    t.is((await provider.send({ path: '/central-token/movie', as, headers })).status, 200);
  }
  const asked = { action: 'read', resource: 'catalog:movie', principalToken: 'v=S1;d=media' };
  t.deepEqual(provider.questions, [asked, asked]);
});

test('central-token without the header, or with two of them, asks nobody', async (t) => {
  const provider = await startProvider(t);
  const as = provider.authority.certificate('media.player');
  for (const headers of [
    {},
    { 'svc-principal-auth': '' },
    { 'svc-principal-auth': ['a', 'b'] },
    { 'svc-principal-auth': 'a', 'athenz-principal-auth': 'b' },
  ]) {
    const answer = await provider.send({ path: '/central-token/movie', as, headers });
    t.deepEqual(
      { status: answer.status, body: answer.body },
      { status: 403, body: { code: 403, message: 'one principal token is required' } },
    );
  }
  t.deepEqual(provider.questions, []);
});

test('central-cert asks about the principal of the certificate', async (t) => {
  const provider = await startProvider(t);
  const as = provider.authority.certificate('Media.Player');
  const answer = await provider.send({ method: 'PUT', path: '/central-cert/series', as });
  t.is(answer.status, 200);
  const thumbprint = certificateThumbprint(as.pem);
  t.deepEqual(provider.questions, [
    { action: 'write', resource: 'catalog:series', principal: 'media.player', thumbprint },
  ]);
});

const needed = 'a service certificate is required';
for (const [name, commonName, message] of [
  ['no certificate', undefined, 'the request came without a client certificate'],
  ['a role certificate', 'catalog:role.reader', needed],
  ['a name without a domain', 'player', needed],
  ['a name that is none', 'media..player', needed],
] as const) {
  test(`central-cert with ${name} asks nobody`, async (t) => {
    const provider = await startProvider(t);
    const as = commonName === undefined ? {} : { as: provider.authority.certificate(commonName) };
    const answer = await provider.send({ path: '/central-cert/movie', ...as });
    t.deepEqual({ status: answer.status, body: answer.body }, { status: 403, body: { code: 403, message } });
    t.deepEqual(provider.questions, []);
  });
}

for (const [name, answerOfServer, reason] of [
  ['a no', false, 'not granted'],
  ['a refusal', new Error('the server answered 401'), 'no answer: the server answered 401'],
  ['silence', new Error('no answer in time'), 'no answer: no answer in time'],
] as const) {
  for (const path of ['/central-token/movie', '/central-cert/movie']) {
    test(`${path}: ${name} of the token server is a refusal`, async (t) => {
      const provider = await startProvider(t, () => answerOfServer);
      const as = provider.authority.certificate('media.player');
      const answer = await provider.send({ path, as, headers: { 'svc-principal-auth': 'v=S1;d=media' } });
      t.deepEqual(
        { status: answer.status, body: answer.body, challenge: answer.headers['www-authenticate'] },
        { status: 403, body: refused, challenge: undefined },
      );
      t.deepEqual(
        provider.log.map((line) => line['reason']),
        [reason],
      );
    });
  }
}
