import type { ConfigValues } from './config-schema.ts';

export type LoginIssuerValues = ConfigValues['people']['issuers'][number];

/** Rules between the options of `people`. */
export function loginContradictions({ people, certificates }: ConfigValues): string[] {
  const { issuers } = people;
  const problems = issuers.flatMap((issuer, index) =>
    namesFaults(issuer).map((fault) => `people.issuers.${index} ${fault}`),
  );
  if (issuers.length > 0 && certificates.issuers.length === 0) {
    problems.push('people.issuers needs an issuer in certificates.issuers');
  }
  for (const [index, one] of issuers.entries()) {
    for (const [at, other] of issuers.entries()) {
      if (index < at && one.issuer === other.issuer)
        problems.push(`people.issuers.${at} has the issuer of another one`);
      if (index !== at && mayNameAlike(one, other)) {
        problems.push(`people.issuers.${index} could give names of people.issuers.${at}: give it a prefix of its own`);
      }
    }
  }
  return problems;
}

function namesFaults({ subjects, claim, prefix, emailDomain }: LoginIssuerValues): string[] {
  return [
    ...((subjects === undefined) === (claim === undefined) ? ['must have either subjects or claim'] : []),
    ...(claim === 'email' && emailDomain === undefined ? ['needs emailDomain for the claim `email`'] : []),
    ...(claim !== 'email' && emailDomain !== undefined ? ['has emailDomain, which is for the claim `email`'] : []),
    ...(claim === undefined && prefix !== '' ? ['has a prefix, which is for a claim'] : []),
  ];
}

/** True if a claim of one issuer could have the name that another issuer gives: two people would share it. */
function mayNameAlike(one: LoginIssuerValues, other: LoginIssuerValues): boolean {
  if (one.claim === undefined) return false;
  if (other.claim !== undefined) return other.prefix.startsWith(one.prefix);
  return Object.values(other.subjects ?? {}).some((name) => name.startsWith(`user.${one.prefix}`));
}
