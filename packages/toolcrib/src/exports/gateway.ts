export * from '@toolcrib/gateway'
