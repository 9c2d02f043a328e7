import { render } from 'solid-js/web';

import './app.css';
import { App } from './app.tsx';

const root = document.querySelector('#root');
if (root !== null) render(() => <App />, root);
