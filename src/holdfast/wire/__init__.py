"""How the processes of Holdfast talk: facts up, orders down."""
