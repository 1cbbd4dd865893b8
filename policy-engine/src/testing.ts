/** A throw-away authority, a clock and a runner for cases, for the tests of services that embed the engine. */
export type { PolicyCase } from './testing/decode-case.ts';
export {
  type CaseEngine,
  type CaseFailure,
  type CaseReport,
  type CoveredAssertion,
  type RunCasesOptions,
  runCases,
} from './testing/run-cases.ts';
export {
  TestAuthority,
  type TestAuthorityOptions,
  type TestBundleInput,
  type TestTokenInput,
} from './testing/test-authority.ts';
export type { TestCertificate } from './testing/test-certificate.ts';
export { TestClock } from './testing/test-clock.ts';

import { TestAuthority, type TestAuthorityOptions } from './testing/test-authority.ts';

/** Makes a throw-away authority: keys, tokens, certificates, bundles and a clock that stands still. */
export function createTestAuthority(options: TestAuthorityOptions = {}): Promise<TestAuthority> {
  return TestAuthority.create(options);
}
