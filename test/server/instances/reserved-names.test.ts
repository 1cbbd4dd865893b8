import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { isReservedHost } from '@signet/server/instances/reserved-names';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import { signetForms } from '@signet/server/x509/name-forms';
import test from 'ava';
import { domainContent, stored } from '#support/domains';

/* Host names that are reserved for any attested instance. */

const sketches = { media: {}, 'media.live': {}, 'asleep.deep': { enabled: false } };
const { snapshot } = compileSnapshot(undefined, {
  state: { epoch: 1, counter: 1, head: '' },
  domains: Object.entries(sketches).map(([name, sketch]) => stored(domainContent(name, sketch))),
  deleted: [],
  signingKeys: [],
});
const tenant = { domain: parseDomainName('media'), service: parseServiceName('player') };

const isReserved = (host: string, serverHost = 'auth.signet.test') =>
  isReservedHost(
    snapshot,
    {
      rules: { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms },
      isServerHost: (name) => name === serverHost,
    },
    tenant,
    host,
  );

const cases: [host: string, reserved: boolean][] = [
  ['auth.signet.test', true],
  ['web.example', false],
  ['web.signet.test', false],
  ['media.signet.test', false],
  // Its own name, that of another service, and that of a service of the domain written as one label.
  ['player.media.signet.test', false],
  ['other.media.signet.test', true],
  ['player.media.live.signet.test', true],
  ['player.media-live.signet.test', true],
  ['x.asleep.deep.signet.test', true],
  ['x.asleep-deep.signet.test', true],
  ['x.nobody.signet.test', false],
  ['a.player.media.signet.test', false],
  ['player.media.example', false],
  ['i-1.instanceid.signet.test', true],
  ['i-1.instanceid.athenz.signet.test', true],
  ['instanceid.signet.test', true],
  ['i-1.instanceid.example', false],
];
for (const [host, reserved] of cases) {
  test(`the host ${host} is ${reserved ? 'reserved' : 'free'}`, (t) => t.is(isReserved(host), reserved));
}

test('localhost belongs to whatever runs on the machine, also where the server is called so', (t) => {
  t.false(isReserved('localhost', 'localhost'));
  t.true(isReserved('web.example', 'web.example'));
});
