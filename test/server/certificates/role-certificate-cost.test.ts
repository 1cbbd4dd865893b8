import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { NoGrantedRolesError } from '@signet/server/errors';
import { issueRoleCertificate, type RoleCertificateDeps } from '@signet/server/x509/issue-role-certificate';
import test from 'ava';
import { snapshotOf } from '#support/domains';
import { naming } from '#support/instance-deps';
import { ecPair, requestPem } from '#support/requests';

test('rules that may lend the role of a certificate are paid, also where they do not', async (t) => {
  const rules = 100;
  const lending = Array.from({ length: rules }, (_, index) => `allow assume_role borrower:role.r${index} holder`);
  const snapshot = snapshotOf({
    lender: { roles: { holder: ['media.player'] }, rules: lending },
    borrower: { roles: { any: { trust: 'lender' } } },
    media: { services: ['player'] },
  });
  const deps: Pick<RoleCertificateDeps, 'snapshot' | 'clock' | 'rules' | 'isSharedAddress'> = {
    snapshot: () => snapshot,
    clock: { now: () => 1 },
    rules: naming,
    isSharedAddress: () => false,
  };
  let work = 0;
  const asked = {
    csr: requestPem(ecPair(), { commonNames: ['borrower:role.any'] }),
    role: { domain: parseDomainName('borrower'), name: parseRoleName('any') },
    heldDnsNames: new Set<string>(),
    address: '192.0.2.1',
    compared: (more: number) => {
      work += more;
    },
  };
  await t.throwsAsync(issueRoleCertificate(deps as RoleCertificateDeps, parsePrincipalName('media.player'), asked), {
    instanceOf: NoGrantedRolesError,
  });
  t.true(work >= 10 * rules, `${work}`);
});
