/** A small valid template document. Each test changes the part that it checks. */
export function exampleDocument() {
  return {
    openapi: '3.1.0',
    info: { title: 'Example', key: 'example', category: 'Testing', description: 'For tests.' },
    servers: [{ url: 'https://api.example.com/v1' }] as Record<string, unknown>[],
    security: [{ token: [] }] as Record<string, string[]>[] | undefined,
    paths: {
      '/projects/{project}/notes': {
        get: {
          operationId: 'list_notes',
          summary: 'List notes of {project}[ about {topic}]',
          scope_param: 'project',
          parameters: [
            { name: 'project', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'topic', in: 'query', schema: { type: 'string' } },
          ] as Record<string, unknown>[],
        },
        post: {
          operationId: 'create_note',
          summary: 'Write note "{title}" in {project}',
          scope_param: 'project',
          parameters: [
            { name: 'project', in: 'path', required: true, schema: { type: 'string' } },
          ] as Record<string, unknown>[],
          requestBody: jsonBody({
            type: 'object',
            required: ['title'],
            properties: { title: { type: 'string' }, text: { type: 'string' } },
          }),
          disclose: [{ label: 'Title', filter: '.body.title' }] as unknown[],
          redact: ['body.text'] as unknown[],
        },
      },
    } as Record<string, Record<string, Record<string, unknown>>>,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', default_secret_name: 'example_token' },
      } as Record<string, Record<string, unknown>>,
      schemas: {} as Record<string, unknown>,
    },
  };
}

export type ExampleDocument = ReturnType<typeof exampleDocument>;

export function jsonBody(schema: unknown, required = true): Record<string, unknown> {
  return { required, content: { 'application/json': { schema } } };
}

/** The operation `list_notes` of the example document, for tests to modify. */
export function listNotes(document: ExampleDocument): Record<string, unknown> {
  return document.paths['/projects/{project}/notes']?.['get'] ?? {};
}

export function createNote(document: ExampleDocument): Record<string, unknown> {
  return document.paths['/projects/{project}/notes']?.['post'] ?? {};
}
