import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { decodeObject, stringMember } from './decode.ts';
import type { Http } from './http/http.ts';

/** Name of an instance. */
export interface InstanceQuery {
  /** Provider that attests the instance, `domain.service`. */
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly instanceId: string;
  readonly signal?: AbortSignal;
}

/** Operations on instances for operators; an instance itself uses `openIdentityAgent`. */
export class Instances {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * `GET /instance/{provider}/{domain}/{service}/{instanceId}/token`: what this instance registers with, once. Takes `update` on
   * `<domain>:service.<service>`. Throws `SignetClientError`.
   */
  async joinToken(query: InstanceQuery): Promise<string> {
    const path = [...pathOf(query), 'token'];
    const { body } = await this.#http.send({ method: 'GET', path, signal: query.signal });
    return stringMember(decodeObject(body), 'attestationData');
  }

  /**
   * `DELETE /instance/{provider}/{domain}/{service}/{instanceId}`: its certificates are refused from now on. Takes `delete` on
   * `<domain>:instance.<instanceId>`; done as well when there was none. Throws `SignetClientError`.
   */
  async delete(query: InstanceQuery): Promise<void> {
    await this.#http.send({ method: 'DELETE', path: pathOf(query), signal: query.signal });
  }
}

function pathOf(query: InstanceQuery): readonly string[] {
  return parseArguments(() => [
    'instance',
    parsePrincipalName(query.provider, 'provider'),
    parseDomainName(query.domain, 'domain'),
    parseServiceName(query.service, 'service'),
    parsePathElement(query.instanceId, 'instanceId'),
  ]);
}
