export * from '@toolcrib/gateway/inspector'
