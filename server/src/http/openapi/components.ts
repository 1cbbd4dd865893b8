import { refreshSchema } from '../../instances/instance-request.ts';
import { conditionSchema, conditionsSchema } from '../../management/documents/conditions.ts';
import {
  assertionSchema,
  domainFieldsSchema,
  groupSchema,
  limitsSchema,
  memberFieldsSchema,
  memberSchema,
  policySchema,
  quotasSchema,
  roleSchema,
} from '../../management/documents/document-schema.ts';
import { newDomainSchema } from '../../management/edits/edit-domains.ts';
import { keySchema, serviceFieldsSchema } from '../../management/edits/edit-services.ts';
import { recordFields } from '../../model/record-fields.ts';
import { requestSchema as sshRequest } from '../../ssh/ssh-csr.ts';
import { approvalSchema, roleRequestSchema } from '../management/request-bodies.ts';
import { requestSchema as accessRequest } from '../routes/access-checks-route.ts';
import { requestSchema as roleRequest } from '../routes/identity/role-certificate.ts';
import { requestSchema as serviceRequest } from '../routes/identity/service-refresh.ts';
import { requestSchema as bundleRequest } from '../routes/policy-bundle.ts';
import * as access from './access-operations.ts';
import * as identities from './identity-operations.ts';
import type { Component, Components } from './json-schema.ts';
import * as management from './management-shapes.ts';
import { names } from './names.ts';
import { resourceError } from './operation.ts';
import { metadataShape, readinessShape } from './public-operations.ts';
import { changeRequestShape } from './request-operations.ts';
import * as tokens from './token-operations.ts';

/** The same in both directions, or only in one. */
const plain = (output: string): Component => ({ output });
/** Callers may leave out of it what they get. */
const differing = (output: string): Component => ({ output, input: `${output}Input` });

/** Texts of bodies that are parsed later. */
const texts: readonly (readonly [unknown, keyof typeof names])[] = [
  [memberSchema.options[0], 'MemberName'],
  [memberSchema.options[1].shape.name, 'MemberName'],
  [newDomainSchema.shape.domain, 'DomainName'],
  [newDomainSchema.shape.admins.element, 'MemberName'],
  [recordFields.role.trust.schema, 'DomainName'],
  [recordFields.member.expires.schema, 'Timestamp'],
  [recordFields.member.review.schema, 'Timestamp'],
];

/** Schemas that stand once in the document and are referred to. */
export const components: Components = new Map<unknown, Component>([
  ...Object.entries(names).map(([name, schema]): [unknown, Component] => [schema, plain(name)]),
  ...texts.map(([schema, name]): [unknown, Component] => [schema, { output: name, says: names[name] }]),
  [resourceError, plain('ResourceError')],
  [access.accessShape, plain('Access')],
  [accessRequest, plain('AccessQuestions')],
  [access.answersShape, plain('AccessAnswers')],
  [access.roleAccessShape, plain('RoleAccess')],
  [tokens.jwkShape, plain('JWK')],
  [tokens.jwkListShape, plain('JWKList')],
  [tokens.tokenForm, plain('AccessTokenRequest')],
  [tokens.tokenShape, plain('AccessTokenResponse')],
  [tokens.bundleShape, plain('SignedPolicy')],
  [tokens.athenzBundleShape, plain('JWSPolicyData')],
  [bundleRequest, plain('SignedPolicyRequest')],
  [tokens.publicKeyShape, plain('PublicKeyEntry')],
  [tokens.cloudCredentialsShape, plain('AWSTemporaryCredentials')],
  [identities.registerInformation, plain('InstanceRegisterInformation')],
  [refreshSchema, plain('InstanceRefreshInformation')],
  [serviceRequest, plain('InstanceRefreshRequest')],
  [identities.instanceIdentityShape, plain('InstanceIdentity')],
  [identities.athenzInstanceIdentityShape, plain('InstanceIdentity')],
  [identities.identityShape, plain('Identity')],
  [identities.joinTokenShape, plain('InstanceRegisterToken')],
  [roleRequest, plain('RoleCertificateRequest')],
  [identities.roleTokenShape, plain('RoleToken')],
  [identities.roleCertificateShape, plain('RoleCertificate')],
  [identities.authoritiesShape, plain('CertificateAuthorityBundle')],
  [sshRequest, plain('SSHCertRequest')],
  [identities.sshCertificatesShape, plain('SSHCertificates')],
  [metadataShape, plain('ServerMetadata')],
  [readinessShape, plain('Readiness')],
  [assertionSchema, differing('Assertion')],
  [conditionSchema, differing('Condition')],
  [conditionsSchema, differing('Conditions')],
  [management.valueSet, plain('ContextValues')],
  [memberSchema, differing('Member')],
  [policySchema, differing('PolicyAssertions')],
  [domainFieldsSchema, plain('DomainAttributes')],
  [newDomainSchema, plain('NewDomain')],
  [limitsSchema, plain('Limits')],
  [quotasSchema, plain('OwnQuotas')],
  [roleSchema, plain('RoleAttributes')],
  [groupSchema, plain('GroupAttributes')],
  [memberFieldsSchema, plain('MemberAttributes')],
  [serviceFieldsSchema, plain('ServiceAttributes')],
  [keySchema, differing('ServiceKey')],
  [management.domainShape, plain('Domain')],
  [management.quotasShape, plain('Quotas')],
  [management.roleShape, plain('Role')],
  [management.groupShape, plain('Group')],
  [management.memberShape, plain('MemberView')],
  [management.serviceShape, plain('Service')],
  [management.keyShape, plain('ServiceKey')],
  [management.policyShape, plain('Policy')],
  [changeRequestShape, plain('ChangeRequest')],
  [roleRequestSchema, plain('RoleRequest')],
  [approvalSchema, plain('Approval')],
  [management.changeShape, plain('Change')],
  [management.objectChangeShape, plain('ObjectChange')],
  [management.previewShape, plain('Preview')],
  [management.shownAssertion, plain('ShownAssertion')],
  [management.instanceShape, plain('Instance')],
  [management.searchHitShape, plain('SearchHit')],
  [management.accessEntryShape, plain('AccessEntry')],
  [management.reviewShape, plain('Review')],
]);
