/** `toolcrib/inspector`: the web page that shows a registry, its servers and what models do with them. For Node. */

export { createInspector, type Inspector } from './inspector.ts'
export type {
  ClientConnection,
  ClientList,
  ConfigSource,
  ConnectedClient,
  InspectorAccess,
  InspectorOptions,
} from './inspector-options.ts'
export { SignIns, type SignInsOptions } from './sign-ins.ts'
