import type { TemplateServer } from '#contracts/template-server';

export type { ServerVariable } from '#contracts/template-server';
export type Server = TemplateServer;
