@problemName p
@timeStamps perhaps
@data
1:a
