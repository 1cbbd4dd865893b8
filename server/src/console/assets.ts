import { readFileSync } from 'node:fs';
import { ownAsset } from '../own-files.ts';

/** Parts of the style sheet, in the order in which they count. */
const parts = ['frame', 'forms-and-tables', 'parts', 'pictures', 'screens'] as const;

/** Files that pages load: the style sheet and the icon. */
export function readAssets(): { readonly style: string; readonly icon: string } {
  const style = parts.map((part) => readFileSync(ownAsset(`console/style/${part}.css`), 'utf8'));
  return { style: style.join('\n'), icon: readFileSync(ownAsset('console/icon.svg'), 'utf8') };
}
