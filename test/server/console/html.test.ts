import { escapeControlsOfLines } from '@signet/server/base/terminal-text';
import { type HtmlValue, html } from '@signet/server/console/html';
import test from 'ava';
import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom('<', '>', '"', "'", '&', '!', '-', '/', '=', '`', '\n', '\r', '\0', 'a', '#', ';'),
    maxLength: 40,
  }),
  fc.constantFrom(
    '<script>alert(1)</script>',
    '" onload="x',
    "' autofocus onfocus='x",
    '</title><img src=x onerror=y>',
    '&lt;',
    '<!--',
    ']]>',
    '\u202egnp.exe',
  ),
);

test('every text is read back as it is shown, between tags and in an attribute', (t) => {
  fc.assert(
    fc.property(hostile, (text) => {
      const [element, ...others] = parseFragment(html`<p title="${text}">${text}</p>`.toString()).childNodes;
      t.deepEqual(others, []);
      const { tagName, attrs, childNodes } = element as DefaultTreeAdapterTypes.Element;
      const shown = escapeControlsOfLines(text);
      t.is(tagName, 'p');
      t.deepEqual(attrs, [{ name: 'title', value: shown }]);
      const read = childNodes.map((child) =>
        child.nodeName === '#text' ? (child as DefaultTreeAdapterTypes.TextNode).value : child.nodeName,
      );
      t.deepEqual(read, shown === '' ? [] : [shown]);
    }),
    { numRuns: 3000 },
  );
});

test('values that are HTML, lists, and nothing', (t) => {
  const list: readonly HtmlValue[] = ['a', html`<b>${'<'}</b>`, undefined, false, 3, ['c']];
  t.is(html`<p>${list}</p>`.toString(), '<p>a<b>&lt;</b>3c</p>');
});

test('an object that looks like HTML is none', (t) => {
  const forged = { toString: () => '<script>', text: '<script>' };
  t.throws(() => html`${forged as never}`);
});
