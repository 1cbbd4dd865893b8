// Without the fonts of the theme: the ones of the reader's system load nothing.
import theme from 'vitepress/theme-without-fonts';
import './site.css';

export default theme;
