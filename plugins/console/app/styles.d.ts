// Styles that a script imports; the bundler makes sheets of them that the document adopts (../build-app.ts).
declare module "*.css"
