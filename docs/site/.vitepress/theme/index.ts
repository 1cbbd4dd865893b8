// Without the fonts of the theme: the ones of the reader's system load nothing.
import type { EnhanceAppContext } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { searchOptions } from '../../search.ts';
import './site.css';

export default {
  extends: theme,
  /** Here and not in the configuration: functions of that are made of text in the page, which its Content-Security-Policy forbids. */
  enhanceApp({ siteData }: EnhanceAppContext): void {
    const { value } = siteData;
    const search = { provider: 'local', options: { miniSearch: { searchOptions } } };
    siteData.value = { ...value, themeConfig: { ...value.themeConfig, search } };
  },
};
