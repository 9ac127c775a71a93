// Styles imported by a script. The bundler turns them into style sheets adopted by the document (../build-app.ts).
declare module "*.css"
