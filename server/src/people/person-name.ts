import { type PrincipalName, parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '../errors.ts';
import { claimAt } from '../instances/attestation/signed-jwt.ts';

/** Names of an issuer's people here: by a table of their `sub`, or by a claim. */
export interface PersonNames {
  readonly issuer: string;
  readonly subjects?: Readonly<Record<string, string>> | undefined;
  readonly claim?: string | undefined;
  /** Stands before the value of the claim. */
  readonly prefix: string;
  /** Accepted domain of mail addresses where the claim is `email`, in lower case: of one domain, as the part before the `@` makes the name. */
  readonly emailDomain?: string | undefined;
}

/** The part of a name after `user.`. Nothing is folded, cut or replaced: two people must not become one. */
const nameGrammar = /^[a-z0-9_][a-z0-9_-]*$/;
/** RFC 5280, ub-common-name: `user.` comes before it. */
const nameCharacters = 59;

/** The part of a mail address before the `@`, with `_` for each dot; without underscores of its own, so that no two become one. */
const localPart = /^[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)*$/;

/** The person whom verified claims name. Throws `ForbiddenError`, which says what is missing. */
export function personName(claims: object, subject: string, names: PersonNames): PrincipalName {
  if (names.subjects !== undefined) {
    if (Object.hasOwn(names.subjects, subject)) return parsePrincipalName(names.subjects[subject]);
    throw new ForbiddenError(
      `\`${subject}\` of \`${names.issuer}\` has no name here: an operator must add it to \`subjects\` of \`people.issuers\``,
    );
  }
  const claim = names.claim ?? '';
  const value = claim === 'email' ? mailName(claims, names) : claimAt(claims, [claim]);
  const name = `${names.prefix}${typeof value === 'string' ? value : ''}`;
  if (typeof value === 'string' && value !== '' && nameGrammar.test(name) && name.length <= nameCharacters) {
    return parsePrincipalName(`user.${name}`);
  }
  throw new ForbiddenError(
    `the claim \`${claim}\` of the ID token cannot be a name: lower-case letters, digits, \`_\` and \`-\`, at most ${nameCharacters}`,
  );
}

function mailName(claims: object, { emailDomain }: PersonNames): string {
  const address = claimAt(claims, ['email']);
  if (typeof address !== 'string')
    throw new ForbiddenError('the ID token has no claim `email`: ask for the scope `email`');
  if (claimAt(claims, ['email_verified']) !== true) {
    throw new ForbiddenError('the issuer has not verified the mail address (`email_verified`)');
  }
  const [local = '', domain = '', ...more] = address.split('@');
  if (more.length > 0 || domain.toLowerCase() !== emailDomain) {
    throw new ForbiddenError('the mail address is not of the `emailDomain` of `people.issuers`');
  }
  if (!localPart.test(local)) {
    throw new ForbiddenError(
      'the mail address cannot be a name: lower-case letters, digits, dots and `-` before the `@`',
    );
  }
  return local.replaceAll('.', '_');
}
