import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import type { InstanceStore } from '../model/instance-store.ts';
import type { Store } from '../model/store.ts';
import { certificateKinds, type Observer, type StoreOperation } from '../observer.ts';

/** Wrapper around each use of the store. */
export type AroundStore = <Result>(operation: StoreOperation, work: () => Promise<Result>) => Promise<Result>;

type StoreObserver = Pick<Observer, 'certificateIssued' | 'certificatesRevoked'>;

/** Operation of each store method. Methods without one query no database. */
const operations: Readonly<Partial<Record<keyof Store, StoreOperation>>> = {
  state: 'look',
  newestRecord: 'look',
  tryWriting: 'look',
  changesSince: 'load',
  everything: 'load',
  view: 'read',
  domain: 'read',
  domainNames: 'read',
  signingKeys: 'read',
  sealedKeys: 'read',
  dueReviews: 'read',
  audit: 'read',
  auditPage: 'read',
  verifyAudit: 'read',
  memberCount: 'read',
  pagingSecret: 'read',
  change: 'change',
};

/** Maximum of unconfirmed intents, above their real number: a certificate that is never confirmed is forgotten. */
const intendedAtOnce = 10_000;

/** Store whose uses `around` wraps, and whose records are reported to the observer. */
export function observedStore(store: Store, observer: StoreObserver | undefined, around: AroundStore): Store {
  const { certificates, instances } = store;
  store.onRevoked((reason, count) => observer?.certificatesRevoked(reason, count));
  const kinds = new LRUCache<string, string>(atMost(intendedAtOnce));
  const issued = (serial: string): void => {
    const kind = certificateKinds.find((each) => each === kinds.get(serial));
    kinds.delete(serial);
    if (kind !== undefined) observer?.certificateIssued(kind);
  };
  const intend: CertificateStore['intend'] = async (row, at) => {
    await certificates.intend(row, at);
    kinds.set(row.serial, row.kind);
  };
  const confirm: CertificateStore['confirm'] = async (serial, fingerprint, conditions) => {
    await certificates.confirm(serial, fingerprint, conditions);
    issued(serial);
  };
  const register: InstanceStore['register'] = async (key, given, details, conditions) => {
    await instances.register(key, given, details, conditions);
    issued(given.serial);
  };
  const rotate: InstanceStore['rotate'] = async (key, presented, given, conditions) => {
    const rotation = await instances.rotate(key, presented, given, conditions);
    if (rotation === 'moved') issued(given.serial);
    return rotation;
  };
  return observed(store, around, (name) => operations[name as keyof Store], {
    certificates: observed(certificates, around, () => 'certificates', { intend, confirm }),
    instances: observed(instances, around, () => 'instances', { register, rotate }),
  });
}

/** The same object with some methods `instead` of its own, and each that has an operation run by `around`. */
function observed<Target extends object>(
  target: Target,
  around: AroundStore,
  operationOf: (name: PropertyKey) => StoreOperation | undefined,
  instead: Partial<Target>,
): Target {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get(_, name) {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(instead, name) ?? Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const operation = operationOf(name);
      const bound = value.bind(target);
      const method = operation === undefined ? bound : (...args: unknown[]) => around(operation, () => bound(...args));
      methods.set(name, method);
      return method;
    },
  });
}
