import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Certificate of a connection that a token is bound to, and the number of computations. */

const { Thumbprints } = await internals<{
  Thumbprints: new () => { matches(certificate: unknown, thumbprint: string): boolean };
}>('policy-engine/src/engine/binding.ts');

const authority = await createTestAuthority();
const [own, other] = [authority.certificate('media.player'), authority.certificate('media.editor')];

test('a certificate in any form is the one with its thumbprint and no other', (t) => {
  const thumbprints = new Thumbprints();
  for (const form of [own.raw, own.pem, { raw: own.raw }]) {
    for (let time = 0; time < 2; time += 1) {
      t.true(thumbprints.matches(form, own.thumbprint));
      t.false(thumbprints.matches(form, other.thumbprint));
    }
  }
});

test('what is no certificate matches nothing', (t) => {
  const thumbprints = new Thumbprints();
  for (const none of [undefined, null, 7, '', 'no certificate', {}, { raw: 'text' }, { raw: new Uint8Array() }]) {
    t.false(thumbprints.matches(none, own.thumbprint));
  }
});

test('it is computed once an object, and each time for bytes, which can change', (t) => {
  const thumbprints = new Thumbprints();
  let reads = 0;
  const certificate = {
    get raw() {
      reads += 1;
      return own.raw;
    },
  };
  for (let time = 0; time < 3; time += 1) t.true(thumbprints.matches(certificate, own.thumbprint));
  t.is(reads, 1);
  const bytes = new Uint8Array(own.raw);
  t.true(thumbprints.matches(bytes, own.thumbprint));
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  t.false(thumbprints.matches(bytes, own.thumbprint));
});
