export { addressBlockOf as addressBlock } from './address-block.ts';
export { isHost } from './host.ts';
