import { render } from 'solid-js/web';

import './app.css';
import { App } from './app.tsx';
import { followThemeOfOtherTabs } from './ui/theme.ts';

followThemeOfOtherTabs();

const root = document.querySelector('#root');
if (root !== null) render(() => <App />, root);
