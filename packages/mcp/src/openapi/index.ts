export { type OpenApiOptions, registerOpenApi } from './register-openapi.ts'
