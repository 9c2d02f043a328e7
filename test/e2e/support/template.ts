/** A template as a user would save it: one read and one write, and a bearer token. */
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
