import { canonicalPath } from '@signet/policy-engine/http';
import test from 'ava';

const cases: { target: string; path: string | undefined }[] = [
  { target: '/', path: '/' },
  { target: '/movie', path: '/movie' },
  { target: '/movie?x=/../y', path: '/movie' },
  { target: '/movie#fragment', path: '/movie' },
  { target: '/movie/', path: '/movie' },
  { target: '/caf%C3%A9', path: '/café' },
  { target: '/Movie', path: '/Movie' },
  { target: '/a;x=1/b', path: '/a;x=1/b' },
  { target: '/a%20b%C2%A0', path: '/a b\u00a0' },
  { target: '/a b', path: undefined },
  { target: '/a ', path: undefined },
  { target: '/ab\u00a0', path: undefined },
  { target: '/abc\ufeff', path: undefined },
  { target: '/café', path: undefined },
  { target: '/a?b\u00a0', path: '/a' },
  { target: '', path: undefined },
  { target: 'movie', path: undefined },
  { target: 'http://elsewhere/movie', path: undefined },
  { target: '*', path: undefined },
  { target: '//movie', path: undefined },
  { target: '/a//b', path: undefined },
  { target: '/a/./b', path: undefined },
  { target: '/a/../b', path: undefined },
  { target: '/a/..', path: undefined },
  { target: '/a/%2e%2e/b', path: undefined },
  { target: '/a/.%2E/b', path: undefined },
  { target: '/%61dmin', path: undefined },
  { target: '/a%2Eb', path: undefined },
  { target: '/a%7eb', path: undefined },
  { target: '/a%40b%3a%2C', path: '/a@b:,' },
  { target: '/%60%7b%5b%5D%5e%2a', path: '/`{[]^*' },
  { target: '/a%2fb', path: undefined },
  { target: '/a%2Fb', path: undefined },
  { target: '/a%5Cb', path: undefined },
  { target: '/a\\b', path: undefined },
  { target: '/a%252fb', path: undefined },
  { target: '/a%00', path: undefined },
  { target: '/a%0d%0ab', path: undefined },
  { target: '/a%7F', path: undefined },
  { target: '/a%zz', path: undefined },
  { target: '/a%', path: undefined },
  { target: '/a%C3', path: undefined },
  { target: '/a%C0%AF', path: undefined },
  { target: '/movie//', path: undefined },
  { target: '//', path: undefined },
  { target: '//?x=1', path: undefined },
  { target: '/%2F', path: undefined },
  { target: `/${'a'.repeat(8192)}`, path: undefined },
];

for (const { target, path } of cases) {
  test(`path ${JSON.stringify(target.slice(0, 40))} is ${path ?? 'refused'}`, (t) => {
    t.is(canonicalPath(target), path);
  });
}
