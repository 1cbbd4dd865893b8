/** Thrown by the reference reader for what is not strict JSON. */
export class Refused extends Error {}

export interface ReferenceLimits {
  readonly items?: number;
  readonly names?: number;
  readonly values?: number;
}

/** A reader of strict JSON as short as it can be, by the grammar of RFC 8259: what the real one answers is compared with it. */
export function readReference(text: string, { items = 1e9, names = 1e9, values = 1e9 }: ReferenceLimits = {}): unknown {
  const seen = new Set<string>();
  let [at, count] = [0, 0];
  const take = (pattern: RegExp): string | undefined => {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = at;
    const [match] = sticky.exec(text) ?? [];
    at += match?.length ?? 0;
    return match;
  };
  const must = (holds: boolean): void => {
    if (!holds) throw new Refused();
  };
  const blank = () => take(/[ \t\n\r]*/);
  const list = (end: RegExp, one: (index: number) => void): void => {
    blank();
    if (take(end) !== undefined) return;
    for (let index = 0; ; index += 1) {
      blank();
      one(index);
      blank();
      if (take(end) !== undefined) return;
      must(take(/,/) !== undefined);
    }
  };
  const string = (): string => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside strings
    const found = take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/);
    must(found !== undefined);
    const decoded = (found ?? '').slice(1, -1).replace(/\\(u....|.)/g, (_, sign: string) => {
      const short = 'bfnrt'.indexOf(sign);
      if (short >= 0) return '\b\f\n\r\t'.charAt(short);
      return sign.length === 1 ? sign : String.fromCharCode(Number.parseInt(sign.slice(1), 16));
    });
    must(decoded.isWellFormed());
    return decoded;
  };
  const object = (levels: number): Record<string, unknown> => {
    const members: [string, unknown][] = [];
    list(/\}/, () => {
      const name = string();
      must(!members.some(([other]) => other === name) && seen.add(name).size <= names);
      blank();
      must(take(/:/) !== undefined);
      members.push([name, value(levels)]);
    });
    return Object.fromEntries(members);
  };
  const array = (levels: number): unknown[] => {
    const found: unknown[] = [];
    list(/\]/, (index) => {
      must(index < items);
      found.push(value(levels));
    });
    return found;
  };
  const value = (levels: number): unknown => {
    blank();
    count += 1;
    must(count <= values);
    if (take(/\[/) !== undefined) {
      must(levels < 32);
      return array(levels + 1);
    }
    if (take(/\{/) !== undefined) {
      must(levels < 32);
      return object(levels + 1);
    }
    const word = take(/true|false|null/);
    if (word !== undefined) return { true: true, false: false, null: null }[word];
    if (text.charAt(at) === '"') return string();
    const number = take(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/);
    must(number !== undefined && Number.isFinite(Number(number)));
    return Number(number);
  };
  must(text.isWellFormed());
  const found = value(0);
  blank();
  must(at === text.length);
  return found;
}
