/** A template as a user would save it, with one read, one write and a bearer token. */
export function templateDocument(key: string, server = 'https://api.example.com'): string {
  return `openapi: 3.1.0
info: { title: Notes ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /notes:
    get: { operationId: list_notes, summary: List notes }
    post:
      operationId: create_note
      summary: Write note {title}
      requestBody:
        required: true
        content:
          application/json:
            schema: { type: object, required: [title], properties: { title: { type: string } } }
components:
  securitySchemes:
    token: { type: http, scheme: bearer, default_secret_name: notes_token }
`;
}

/**
 * A template whose service accepts two kinds of credentials: an account at the provider `mock`, or
 * a token.
 */
export function templateWithTwoWays({
  server,
  issuer,
}: {
  server: string;
  issuer: string;
}): string {
  return `openapi: 3.1.0
info: { title: Notes, key: notes, category: Testing, description: Notes of a team. }
servers: [{ url: '${server}' }]
security: [{ oauth: [] }, { token: [] }]
paths:
  /notes:
    get: { operationId: list_notes, summary: 'List notes[ of {author}]', parameters: [{ name: author, in: query, schema: { type: string } }] }
    post:
      operationId: create_note
      summary: Write note {title}
      requestBody:
        required: true
        content:
          application/json:
            schema: { type: object, required: [title], properties: { title: { type: string } } }
    delete: { operationId: delete_notes, summary: Delete all notes }
components:
  securitySchemes:
    oauth:
      type: oauth2
      provider: mock
      flows:
        authorizationCode:
          authorizationUrl: ${issuer}/authorize
          tokenUrl: ${issuer}/token
          scopes: { read: Read notes, write: Write notes }
    token: { type: http, scheme: bearer, default_secret_name: notes_token }
`;
}
